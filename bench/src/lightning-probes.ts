import type { Person } from '@penstock/cluster/regtest/person.ts'
import { getFailedPayments } from 'lightning'

/** A probe while it was under way, by the channel that it tried: milliseconds of the clock. */
export type Probe = { readonly channel: string; readonly from: number; readonly to: number }

type Attempt = {
  readonly route: { readonly hops: readonly { readonly channel: string }[] }
  readonly created_at: string
  readonly failed_at?: string
}

/** Every probe that a market's node sent, from its handing to a link until it came back, as the node itself has noted it. */
export async function probesOf({ node: { lnd } }: Person): Promise<readonly Probe[]> {
  const probes: Probe[] = []
  let token: string | undefined
  do {
    const { payments, next } = await getFailedPayments(token === undefined ? { lnd, limit: 1000 } : { lnd, token })
    // `lightning` gives both times, and leaves them out of its types.
    const attempts = payments.flatMap((payment) => payment.attempts as unknown as readonly Attempt[])
    for (const { route, created_at, failed_at } of attempts) {
      const channel = route.hops.at(-1)?.channel
      // No probe is ever paid: what is no failure was no probe.
      if (channel !== undefined && failed_at !== undefined)
        probes.push({ channel, from: Date.parse(created_at), to: Date.parse(failed_at) })
    }
    token = next
  } while (token !== undefined)
  return probes
}

/** @returns how long at least one of the probes of this channel was under way within these moments */
export function probedWithin(probes: readonly Probe[], channel: string, start: number, end: number): number {
  const own = probes.filter((probe) => probe.channel === channel).toSorted((one, other) => one.from - other.from)
  let sum = 0
  let counted = start
  for (const { from, to } of own) {
    const begin = Math.max(from, counted)
    const over = Math.min(to, end)
    sum += Math.max(0, over - begin)
    counted = Math.max(counted, over)
  }
  return sum
}
