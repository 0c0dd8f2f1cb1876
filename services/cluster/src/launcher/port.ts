import { setTimeout as sleep } from 'node:timers/promises'
import { portFault } from '@penstock/servers/free-port.ts'

/** So long those may listen on it whose launcher was killed just now. */
const FREE_WITHIN_MS = 12_000
const LOOK_EVERY_MS = 200

/**
 * Resolves when nobody listens there. Gateways share their port, so those of two markets would share it too, unnoticed.
 * @throws Error with a sentence where somebody still does, or nobody can
 */
export async function portIsFree(
  { host, port }: { readonly host: string; readonly port: number },
  over: AbortSignal,
  withinMs = FREE_WITHIN_MS,
): Promise<void> {
  for (const end = performance.now() + withinMs; ;) {
    const fault = await portFault(port, host)
    if (fault === undefined) return
    over.throwIfAborted()
    if (fault !== 'EADDRINUSE')
      throw new Error(`port ${port} of ${host} cannot be listened on (${fault}). Set PORT or PENSTOCK_HOST to others.`)
    if (performance.now() > end) throw new Error(`port ${port} is taken by another program. Set PORT to a free one.`)
    await sleep(LOOK_EVERY_MS)
  }
}

/** Where one is asked on this machine who listens on that address: by loopback where it listens on all. */
export function reachedAt(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
