/** The head of a screen: where it is, its name, how old its figures are, what can be done. Also the tab's title. */
import { Anchor, Breadcrumbs, Group, Title } from "@mantine/core";
import { Link, type LinkProps } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import { useShared } from "@/shared/texts/shared";
import { AgeBadge } from "./AgeBadge";
import classes from "./PageHeader.module.css";

export interface Crumb {
  label: string;
  link: LinkProps;
}

interface Props {
  title: string;
  crumbs?: readonly Crumb[];
  /** Beside the title: a state, kinds, a button to copy the name. */
  badges?: ReactNode;
  /** Undefined: this screen has no sampled figures. */
  sampledAt?: string | null;
  actions?: ReactNode;
  children?: ReactNode;
}

export function PageHeader({ title, crumbs = [], badges, sampledAt, actions, children }: Props) {
  const t = useShared();
  useEffect(() => {
    document.title = [title, ...crumbs.map((crumb) => crumb.label).reverse(), "Signalbox"].join(" · ");
  });
  return (
    <header className={classes.header}>
      {crumbs.length > 0 && (
        <nav aria-label={t("breadcrumbs")}>
          <Breadcrumbs separatorMargin={6} className={classes.crumbs}>
            {crumbs.map((crumb) => (
              <Anchor key={crumb.label} size="xs" renderRoot={(props) => <Link {...crumb.link} {...props} />}>
                {crumb.label}
              </Anchor>
            ))}
          </Breadcrumbs>
        </nav>
      )}
      <Group justify="space-between" gap="sm" wrap="wrap" align="center">
        <Group gap="sm" wrap="wrap" miw={0}>
          <Title order={1} className={classes.title}>
            {title}
          </Title>
          {badges}
        </Group>
        <Group gap="sm" wrap="wrap">
          {sampledAt !== undefined && <AgeBadge sampledAt={sampledAt} />}
          {actions}
        </Group>
      </Group>
      {children}
    </header>
  );
}
