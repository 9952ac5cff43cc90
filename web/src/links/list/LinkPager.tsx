import { useTexts } from "../../strings/language";
import { links as texts } from "../../strings/links";
import { useFormats } from "../../ui/format";
import { Pager, type Pages } from "../../ui/Pager";
import { type LinkPage, PAGE } from "../queries";

/** Turns the pages of a list of links, and says which of them are in sight. */
export function LinkPager(props: { pages: Pages; page: LinkPage; isBusy: boolean }) {
  const words = useTexts(texts);
  const { number } = useFormats();
  const { pages, page } = props;
  const from = pages.number * PAGE + 1;
  const to = from + page.links.length - 1;
  const total = number(Math.max(page.total, to));
  const range = words.range(
    number(from),
    number(to),
    page.is_total_exact ? total : words.atLeast(total),
  );
  const text = page.is_complete ? range : `${range} (${words.partly})`;
  return <Pager pages={pages} next={page.next_cursor} isBusy={props.isBusy} text={text} />;
}
