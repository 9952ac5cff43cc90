import type { Role } from "../app/space";
import { useTexts } from "../strings/language";
import { workspaces as texts } from "../strings/workspaces";
import { Choices } from "../ui/Choices";

/** The least first: what somebody gets who is invited in a hurry. */
export const ROLES: readonly Role[] = ["viewer", "editor", "owner"];

export function RoleChoice(props: { chosen: Role; onChange: (role: Role) => void }) {
  const words = useTexts(texts);
  return (
    <Choices
      label={words.role}
      chosen={[props.chosen]}
      onChange={([role]) => role && props.onChange(role)}
      choices={ROLES.map((role) => ({
        value: role,
        title: words[role],
        text: words[`${role}Text`],
      }))}
    />
  );
}
