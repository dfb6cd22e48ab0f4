import { Link, useLocation } from "react-router";
import { Empty } from "../ui/Feedback";
import { useTitle } from "../ui/Layout";

export function NotFoundPage() {
  useTitle("No such page");
  const { pathname } = useLocation();
  return (
    <Empty icon="search" title="There is no page at this address">
      <p><code>{pathname}</code> is none of the console's pages.</p>
      <p><Link to="/jobs">Go to the jobs</Link></p>
    </Empty>
  );
}
