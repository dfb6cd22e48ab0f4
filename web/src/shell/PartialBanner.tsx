import { Link } from "react-router";
import type { Page } from "../api/types";
import { Banner } from "../ui/Feedback";

/** Says that some rows may be out of date, in the words of the server. */
export function PartialBanner({ page }: { page: Page<unknown> }) {
  if (!page.partial) return null;
  return (
    <Banner tone="amber" icon="mute">
      {page.partial} <Link to="/clusters">See the clusters</Link>
    </Banner>
  );
}
