/** Line icons on a 16 × 16 grid. Always beside a word or with an accessible name on the control around them. */
const PATHS = {
  fleet: "M2.5 2.5h4.7v4.7H2.5zM8.8 2.5h4.7v4.7H8.8zM2.5 8.8h4.7v4.7H2.5zM8.8 8.8h4.7v4.7H8.8z",
  jobs: "M2.5 4h11M2.5 8h11M2.5 12h7",
  clusters: "M8 1.8l5.5 3.1v6.2L8 14.2l-5.5-3.1V4.9zM2.6 5L8 8l5.4-3M8 8v6",
  incidents: "M8 2.2l6.2 11H1.8zM8 6.5v3.2M8 11.6v.1",
  usage: "M2.5 13.5v-4M6.2 13.5v-8M9.8 13.5V8M13.5 13.5v-11",
  queues: "M2.5 4.5h7M2.5 8h9M2.5 11.5h11M12 2.5v4M10 4.5h4",
  clock: "M8 14A6 6 0 108 2a6 6 0 000 12zM8 4.8V8l2.2 1.6",
  arrow: "M3 8h10M9 4l4 4-4 4",
  up: "M8 13V3M4 7l4-4 4 4",
  play: "M5 3.5l7 4.5-7 4.5z",
  check: "M3 8.5l3.2 3.2L13 5",
  cross: "M4 4l8 8M12 4l-8 8",
  slash: "M8 14A6 6 0 108 2a6 6 0 000 12zM3.8 12.2l8.4-8.4",
  stop: "M4.5 4.5h7v7h-7z",
  half: "M8 14A6 6 0 108 2a6 6 0 000 12zM8 2v12M8.6 5h3.6M8.6 8h5M8.6 11h3.6",
  mute: "M2.5 6h2.2L8 3v10L4.7 10H2.5zM10.8 6l3.4 4M14.2 6l-3.4 4",
  key: "M6 10.5a3 3 0 11.1-5.9A3 3 0 016 10.5zM8.2 6.4L14 6.4v2.4M11.6 6.4v2",
  mail: "M2 4h12v8H2zM2 4.5L8 9l6-4.5",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  download: "M8 2.5v8M4.8 7.6L8 10.8l3.2-3.2M2.5 13.5h11",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  search: "M7 12A5 5 0 107 2a5 5 0 000 10zM10.6 10.6L14 14",
  plus: "M8 3v10M3 8h10",
  terminal: "M2 3h12v10H2zM4.5 6l2 2-2 2M8.5 10.5h3",
  sun: "M8 10.8a2.8 2.8 0 100-5.6 2.8 2.8 0 000 5.6zM8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M12.6 3.4l-1.1 1.1M4.5 11.5l-1.1 1.1",
  moon: "M13 9.6A5.6 5.6 0 016.4 3a5.6 5.6 0 106.6 6.6z",
  auto: "M8 14A6 6 0 108 2a6 6 0 000 12zM8 2v12",
  out: "M9.5 3h-6v10h6M7 8h7M11.2 5.2L14 8l-2.8 2.8",
  link: "M6.8 9.2l2.4-2.4M7.4 4.6l1.4-1.4a2.8 2.8 0 014 4l-1.4 1.4M8.6 11.4l-1.4 1.4a2.8 2.8 0 01-4-4l1.4-1.4",
  bolt: "M9 1.8L3.5 9H8l-1 5.2L12.5 7H8z",
  info: "M8 14A6 6 0 108 2a6 6 0 000 12zM8 7.2v3.6M8 5v.1",
  sliders: "M2 4.5h6M12 4.5h2M10 2.7v3.6M2 11.5h2M8 11.5h6M6 9.7v3.6",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg className="icon" width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor" strokeWidth="1.5" strokeLinecap="round" strokeLinejoin="round" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The mark: rays in formation. */
export function Logo({ size = 28 }: { size?: number }) {
  return (
    <svg className="logo" width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <path d="M16 3l9 8.6-9-3-9 3z" />
      <path d="M8 14l7 6.6-7-2.3-7 2.3z" opacity=".8" />
      <path d="M24 14l7 6.6-7-2.3-7 2.3z" opacity=".8" />
      <path d="M16 20l7 9-7-3-7 3z" opacity=".55" />
    </svg>
  );
}
