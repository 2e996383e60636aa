/**
 * How the console looks: calm greys, one accent, four states. Every pair of colours that text stands on has a
 * contrast of 4.5 or more in both themes (axe looks at each screen in tests/browser).
 */
import {
  createTheme,
  mergeThemeOverrides,
  type CSSVariablesResolver,
  type MantineColorsTuple,
} from "@mantine/core";

const signal: MantineColorsTuple = [
  "#e8f6f5",
  "#d0eae9",
  "#9fd6d4",
  "#6bc1be",
  "#3fa9a7",
  "#1f9291",
  "#0f7c7c",
  "#0b6a6b",
  "#085556",
  "#054142",
];

const slate: MantineColorsTuple = [
  "#d5dbe3",
  "#b4bdc9",
  "#929dac",
  "#6c7888",
  "#3d4856",
  "#2f3946",
  "#222b36",
  "#18202a",
  "#121922",
  "#0c1118",
];

const look = createTheme({
  primaryColor: "signal",
  // Dark enough for white text, also when it is pointed at; lines and focus are --sb-accent.
  primaryShade: 6,
  autoContrast: true,
  colors: { signal, dark: slate },
  fontFamily:
    "Inter, 'Segoe UI', -apple-system, BlinkMacSystemFont, Roboto, 'Helvetica Neue', 'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif",
  fontFamilyMonospace:
    "ui-monospace, 'JetBrains Mono', SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Noto Sans Mono CJK SC', monospace",
  fontSizes: { xs: "12px", sm: "13px", md: "14px", lg: "16px", xl: "20px" },
  headings: {
    fontWeight: "600",
    sizes: { h1: { fontSize: "20px" }, h2: { fontSize: "16px" }, h3: { fontSize: "14px" } },
  },
  defaultRadius: "sm",
  cursorType: "pointer",
  components: {
    Button: { defaultProps: { size: "xs" } },
    TextInput: { defaultProps: { size: "xs" } },
    PasswordInput: { defaultProps: { size: "xs" } },
    NumberInput: { defaultProps: { size: "xs" } },
    Textarea: { defaultProps: { size: "xs" } },
    Select: { defaultProps: { size: "xs", allowDeselect: false } },
    MultiSelect: { defaultProps: { size: "xs" } },
    Checkbox: { defaultProps: { size: "xs" } },
    Switch: { defaultProps: { size: "sm" } },
    SegmentedControl: { defaultProps: { size: "xs" } },
    Modal: {
      defaultProps: { centered: true, overlayProps: { backgroundOpacity: 0.5 } },
      styles: {
        content: { background: "var(--sb-raised)" },
        header: { background: "var(--sb-raised)" },
        title: { fontWeight: 600, fontSize: "var(--mantine-font-size-lg)" },
      },
    },
    Drawer: {
      styles: {
        content: { background: "var(--sb-raised)" },
        header: { background: "var(--sb-raised)" },
        title: { fontWeight: 600, fontSize: "var(--mantine-font-size-lg)" },
      },
    },
    Tooltip: {
      defaultProps: {
        openDelay: 250,
        multiline: true,
        maw: 340,
        withArrow: true,
        events: { hover: true, focus: true, touch: true },
      },
    },
    ActionIcon: { defaultProps: { variant: "subtle", color: "gray" } },
    // A table that scrolls sideways must be reachable by keyboard.
    TableScrollContainer: { defaultProps: { scrollAreaProps: { viewportProps: { tabIndex: 0 } } } },
  },
});

/** With the words that parts of Mantine say by themselves. */
export function themeWith(words: { close: string }) {
  const closing = { defaultProps: { closeButtonProps: { "aria-label": words.close } } };
  return mergeThemeOverrides(look, createTheme({ components: { Modal: closing, Drawer: closing } }));
}

export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-body": "#f7f8fa",
    "--mantine-color-text": "#1b232c",
    "--mantine-color-dimmed": "#55606d",
    "--mantine-color-placeholder": "#66717e",
    "--mantine-color-error": "#b42318",
    "--mantine-color-anchor": "#0b6a6b",
    "--sb-accent": "#0f7c7c",
    "--sb-surface": "#ffffff",
    "--sb-raised": "#ffffff",
    "--sb-line": "#dfe3e8",
    "--sb-line-strong": "#c3cad3",
    "--sb-hover": "#eef3f4",
    "--sb-active": "#dff0ef",
    "--sb-ok": "#13712f",
    "--sb-ok-soft": "#e3f4e7",
    "--sb-warn": "#875400",
    "--sb-warn-soft": "#fdf1d8",
    "--sb-bad": "#b42318",
    "--sb-bad-soft": "#fdeceb",
    "--sb-info": "#1b5fa8",
    "--sb-info-soft": "#e5f0fb",
    "--sb-quiet": "#55606d",
    "--sb-quiet-soft": "#eceff2",
  },
  dark: {
    "--mantine-color-body": "#0f151c",
    "--mantine-color-text": "#dbe1e8",
    "--mantine-color-dimmed": "#9aa6b4",
    "--mantine-color-placeholder": "#8793a2",
    "--mantine-color-error": "#ff8f84",
    "--mantine-color-anchor": "#6bc1be",
    "--sb-accent": "#3fa9a7",
    "--sb-surface": "#161d26",
    "--sb-raised": "#1b232d",
    "--sb-line": "#2a343f",
    "--sb-line-strong": "#3d4856",
    "--sb-hover": "#1f2933",
    "--sb-active": "#173a3c",
    "--sb-ok": "#63cc80",
    "--sb-ok-soft": "#16301f",
    "--sb-warn": "#e3b24a",
    "--sb-warn-soft": "#352a12",
    "--sb-bad": "#ff8f84",
    "--sb-bad-soft": "#3a1c1b",
    "--sb-info": "#7db8f2",
    "--sb-info-soft": "#172c42",
    "--sb-quiet": "#9aa6b4",
    "--sb-quiet-soft": "#242d37",
  },
});
