import type { RegtestNode } from '@penstock/cluster/regtest/node-role.ts'
import { getFailedPayments } from 'lightning'

/** The time span of one probe, in milliseconds since 1970, and the channel that it tried. */
export type ChannelProbe = { readonly channel: string; readonly from: number; readonly to: number }

type ProbeAttempt = {
  readonly route: { readonly hops: readonly { readonly channel: string }[] }
  readonly created_at: string
  readonly failed_at?: string
}

/** Lists every probe that the market's node sent, from its start until its failure, as lnd recorded it. */
export async function listProbes({ lnd: { lnd } }: RegtestNode): Promise<readonly ChannelProbe[]> {
  const probes: ChannelProbe[] = []
  let token: string | undefined
  do {
    const { payments, next } = await getFailedPayments(token === undefined ? { lnd, limit: 1000 } : { lnd, token })
    // `lightning` returns both timestamps, but its types lack them.
    const attempts = payments.flatMap((payment) => payment.attempts as unknown as readonly ProbeAttempt[])
    for (const { route, created_at, failed_at } of attempts) {
      const channel = route.hops.at(-1)?.channel
      // Every probe fails, because no node knows a preimage of its random payment hash.
      if (channel !== undefined && failed_at !== undefined)
        probes.push({ channel, from: Date.parse(created_at), to: Date.parse(failed_at) })
    }
    token = next
  } while (token !== undefined)
  return probes
}

/** @returns the milliseconds between `start` and `end` during which at least one probe of the channel was active */
export function measureProbingMs(probes: readonly ChannelProbe[], channel: string, start: number, end: number): number {
  const channelProbes = probes.filter((probe) => probe.channel === channel).toSorted((one, other) => one.from - other.from)
  let sum = 0
  let countedUntil = start
  for (const { from, to } of channelProbes) {
    const startsAt = Math.max(from, countedUntil)
    const endsAt = Math.min(to, end)
    sum += Math.max(0, endsAt - startsAt)
    countedUntil = Math.max(countedUntil, endsAt)
  }
  return sum
}
