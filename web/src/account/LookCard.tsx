import { type MantineColorScheme, NativeSelect, useMantineColorScheme } from "@mantine/core";
import { account as texts } from "../strings/account";
import { choose, LANGUAGES, type Language, useLanguage, useTexts } from "../strings/language";
import { Card } from "../ui/Card";
import form from "../ui/form.module.css";

export function LookCard() {
  const words = useTexts(texts);
  const language = useLanguage();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Card title={words.look} text={words.lookText}>
      <div className={`${form.row} ${form.narrow}`}>
        <NativeSelect
          label={words.language}
          value={language}
          onChange={(event) => choose(event.currentTarget.value as Language)}
          data={Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }))}
        />
        <NativeSelect
          label={words.colours}
          value={colorScheme}
          onChange={(event) => setColorScheme(event.currentTarget.value as MantineColorScheme)}
          data={(["auto", "light", "dark"] as const).map((value) => ({
            value,
            label: words[value],
          }))}
        />
      </div>
    </Card>
  );
}
