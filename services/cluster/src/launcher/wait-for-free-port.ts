import { setTimeout as sleep } from 'node:timers/promises'
import { findPortFault } from '@penstock/servers/free-port.ts'

/** The gateways of a killed launcher listen for less than this time. */
const FREE_TIMEOUT_MS = 12_000
const POLL_MS = 200

/**
 * Resolves when no process listens on the port. Gateways open the port for sharing, so two markets could share it unnoticed.
 * @throws Error with a sentence if a process still listens after the timeout, or if the port cannot be used
 */
export async function waitForFreePort(
  { host, port }: { readonly host: string; readonly port: number },
  signal: AbortSignal,
  withinMs = FREE_TIMEOUT_MS,
): Promise<void> {
  for (const end = performance.now() + withinMs; ;) {
    const fault = await findPortFault(port, host)
    if (fault === undefined) return
    signal.throwIfAborted()
    if (fault !== 'EADDRINUSE')
      throw new Error(`port ${port} of ${host} cannot be listened on (${fault}). Set PORT or PENSTOCK_HOST to others.`)
    if (performance.now() > end) throw new Error(`port ${port} is taken by another program. Set PORT to a free one.`)
    await sleep(POLL_MS)
  }
}
