import { formatFundsAttestation } from '@penstock/bitcoin/attestation.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import type { MarketClient } from './market-client.ts'
import { type WakeUpSignal, createWakeUpSignal } from './wake-up.ts'
import type { AgentTimings } from './terms.ts'

type AttestingPorts = {
  readonly lightning: Pick<Lightning, 'wallet' | 'messages'>
  readonly market: Pick<MarketClient, 'attest'>
  readonly clock: Clock
  readonly log: Logger
  readonly pubkey: string
}

/**
 * Attests the node's confirmed balance to the market, at intervals and at once after a change. `wakeUp` triggers a check.
 * While the node does not answer, the agent sends no attestation, and so gets no orders.
 */
export async function attestFunds(
  { lightning, market, clock, log, pubkey }: AttestingPorts,
  { fundsMs, attestMs }: Pick<AgentTimings, 'fundsMs' | 'attestMs'>,
  signal: AbortSignal,
  wakeUp: WakeUpSignal = createWakeUpSignal(clock),
): Promise<void> {
  let last: { readonly confirmedSats: bigint; readonly atMs: number } | undefined
  let isSilent = false
  while (!signal.aborted) {
    try {
      const at = clock.now() // Taken first: the market must not believe that the balance is younger than it is.
      const confirmedSats = await lightning.wallet.confirmedSat()
      if (last?.confirmedSats !== confirmedSats || clock.monotonicMs() - last.atMs >= attestMs) {
        const signature = await lightning.messages.sign(formatFundsAttestation({ pubkey, confirmedSats, at }))
        await market.attest({ pubkey, confirmedSats, at, signature })
        last = { confirmedSats, atMs: clock.monotonicMs() }
      }
      if (isSilent) log.info({ pubkey }, 'the funds are attested again')
      isSilent = false
    } catch (error) {
      if (!isSilent && !signal.aborted) log.warn({ pubkey, reason: String(error) }, 'attesting the funds failed; retrying')
      isSilent = true
    }
    await wakeUp.wait(fundsMs, signal)
  }
}
