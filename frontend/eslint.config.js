/** House rules of the front end: layers, no literal text, no markup from strings, hooks, size of functions and files. */
import js from "@eslint/js";
import hooks from "eslint-plugin-react-hooks";
import { defineConfig, globalIgnores } from "eslint/config";
import typescript from "typescript-eslint";
import { layers } from "./tools/layers.js";

const WORDS = "/\\p{L}{2}/u";
const SPOKEN =
  "/^(label|title|placeholder|description|alt|aria-label|aria-description|error|legend|tooltip)$/";
const SPEAK = "No literal text: put it into the feature's texts (en.ts and zh.ts) and say t(…).";

const noLiteralText = [
  { selector: `JSXText[value=${WORDS}]`, message: SPEAK },
  { selector: `JSXAttribute[name.name=${SPOKEN}] > Literal[value=${WORDS}]`, message: SPEAK },
  {
    selector: `JSXExpressionContainer > Literal[value=${WORDS}][parent.parent.type="JSXElement"]`,
    message: SPEAK,
  },
  { selector: `JSXElement > JSXExpressionContainer > Literal[value=${WORDS}]`, message: SPEAK },
  {
    selector: `JSXElement > JSXExpressionContainer > TemplateLiteral > TemplateElement[value.raw=${WORDS}]`,
    message: SPEAK,
  },
  {
    selector: `JSXElement > JSXExpressionContainer > ConditionalExpression > Literal[value=${WORDS}]`,
    message: SPEAK,
  },
];
const neverMarkup = [
  {
    selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]',
    message: "Bodies, keys and names are text: <TextBody> shows them.",
  },
  {
    selector: "MemberExpression[property.name=/^(innerHTML|outerHTML|insertAdjacentHTML)$/]",
    message: "Text only.",
  },
];

export default defineConfig(
  globalIgnores(["src/types/api.gen.ts", "node_modules"]),
  js.configs.recommended,
  typescript.configs.strict,
  hooks.configs.flat.recommended,
  {
    plugins: { house: { rules: { layers } } },
    rules: {
      "house/layers": "error",
      "max-lines": ["error", { max: 500, skipBlankLines: true }],
      "max-lines-per-function": ["error", { max: 90, skipComments: true, skipBlankLines: true }],
      "no-eval": "error",
      "no-console": "error",
      eqeqeq: ["error", "always", { null: "ignore" }],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      "no-restricted-syntax": ["error", ...noLiteralText, ...neverMarkup],
      // TanStack Table and Virtual return functions that the compiler's rule does not know; we do not use the compiler.
      "react-hooks/incompatible-library": "off",
    },
  },
  {
    files: ["**/*.test.*"],
    rules: { "max-lines-per-function": "off", "no-restricted-syntax": ["error", ...neverMarkup] },
  },
  {
    files: ["tools/**", "*.config.*", "public/**"],
    languageOptions: { globals: { window: "readonly", document: "readonly" } },
  },
);
