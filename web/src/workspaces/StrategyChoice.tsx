import { useTexts } from "../strings/language";
import { workspaces as texts } from "../strings/workspaces";
import { Choices } from "../ui/Choices";

export type Strategy = "deterministic" | "random" | "counter";

/** How the codes of new links are made, each way with what one looks like. */
export function StrategyChoice(props: {
  chosen: Strategy;
  onChange: (strategy: Strategy) => void;
}) {
  const words = useTexts(texts);
  return (
    <Choices
      label={words.strategy}
      chosen={[props.chosen]}
      onChange={([strategy]) => strategy && props.onChange(strategy)}
      choices={[
        {
          value: "deterministic",
          title: words.deterministic,
          text: words.deterministicText,
          example: "K5YWpCtbjZ",
        },
        { value: "random", title: words.random, text: words.randomText, example: "aB3xK9z" },
        { value: "counter", title: words.counter, text: words.counterText, example: "p6RlmFL" },
      ]}
    />
  );
}
