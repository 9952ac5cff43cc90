import { ActionIcon } from "@mantine/core";
import type { ComponentProps } from "react";
import { Icon, type IconName } from "./Icon";
import styles from "./IconButton.module.css";

interface Props extends Omit<ComponentProps<"button">, "className" | "color" | "style"> {
  icon: IconName;
  /** What it does, for those who do not see it and for who hovers. */
  label: string;
  size?: number;
  isExpanded?: boolean;
  isDisabled?: boolean;
}

/** A sign that can be pressed, also to open a menu. */
export function IconButton(props: Props) {
  const { icon, label, size = 36, isExpanded, isDisabled = false, ...rest } = props;
  return (
    <ActionIcon
      aria-expanded={isExpanded}
      {...rest}
      variant="subtle"
      color="gray"
      size={size}
      className={styles.button ?? ""}
      aria-label={label}
      title={label}
      disabled={isDisabled}
    >
      <Icon name={icon} size={size > 36 ? 20 : 18} />
    </ActionIcon>
  );
}
