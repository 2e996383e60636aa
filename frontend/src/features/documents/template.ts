/** A document to begin with, and what of a document's text is needed before the API has read it. Pure. */
export function templateOf(cluster: string): string {
  return `name: ${cluster}
clusters:
  - name: ${cluster}
    topics:
      - name: orders
        read_queues: 4
        write_queues: 4
        owner: ""
    groups:
      - name: billing
        retry_max_times: 16
`;
}

export const MAX_BYTES = 1_048_576;

export function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
