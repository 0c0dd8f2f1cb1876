/** The host by which a server on this machine is reached: loopback, if it listens on all addresses. */
export function toReachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
