import { fundsAttestationText } from '@penstock/bitcoin/attestation.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { Log } from '@penstock/runtime/log.ts'
import type { Market } from './market.ts'
import { type Bell, bellOf } from './news.ts'
import type { Pace } from './terms.ts'

type Attesting = {
  readonly lightning: Pick<Lightning, 'wallet' | 'messages'>
  readonly market: Pick<Market, 'attest'>
  readonly clock: Clock
  readonly log: Log
  readonly pubkey: string
}

/**
 * Tells the market again and again what the node can fund, at once when that has changed: at the bell it looks. A node that does not answer
 * means no attestation, and so no orders; it goes on by itself when the node is back.
 */
export async function attestFunds(
  { lightning, market, clock, log, pubkey }: Attesting,
  { fundsMs, attestMs }: Pick<Pace, 'fundsMs' | 'attestMs'>,
  signal: AbortSignal,
  bell: Bell = bellOf(clock),
): Promise<void> {
  let last: { readonly confirmedSats: bigint; readonly atMs: number } | undefined
  let silent = false
  while (!signal.aborted) {
    try {
      const confirmedSats = await lightning.wallet.confirmedSat()
      const at = clock.now()
      if (last?.confirmedSats !== confirmedSats || clock.monotonicMs() - last.atMs >= attestMs) {
        const signature = await lightning.messages.sign(fundsAttestationText({ pubkey, confirmedSats, at }))
        await market.attest({ pubkey, confirmedSats, at, signature })
        last = { confirmedSats, atMs: clock.monotonicMs() }
      }
      if (silent) log.info({ pubkey }, 'the funds are attested again')
      silent = false
    } catch (error) {
      if (!silent && !signal.aborted) log.warn({ pubkey, reason: String(error) }, 'the funds are not attested')
      silent = true
    }
    await bell.rest(fundsMs, signal)
  }
}
