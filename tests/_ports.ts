/**
 * Ports for servers that tests start.
 *
 * @module
 */

/**
 * Asks the system for a port of the loopback interface that nobody uses.
 *
 * @returns The port.
 */
export function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}
