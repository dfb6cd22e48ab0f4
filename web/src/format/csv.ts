/** Rows as CSV by RFC 4180, with a header. Cells that a spreadsheet would run as a formula are defused. */
export function csv(header: string[], rows: string[][]): string {
  return [header, ...rows].map((row) => row.map(cell).join(",") + "\r\n").join("");
}

function cell(value: string): string {
  const safe = /^[=+@\t\r]/.test(value) || /^-(?![\d.])/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Offers `text` as a file. */
export function download(name: string, text: string, type: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
