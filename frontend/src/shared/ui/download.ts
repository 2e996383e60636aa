/** Gives the browser a file that this page made. */
export function downloadText(text: string | Uint8Array<ArrayBuffer>, name: string) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // At once would be before the browser has read it.
  window.setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
