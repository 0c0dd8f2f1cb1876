import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { Gateway } from '../ports.ts'
import { networksOf } from '../web/address.ts'
import { type Exceeded, tooMany } from '../web/rate-limit.ts'

type Use = {
  readonly name: string
  /** What the address's uses are counted for, such as one order or account; undefined for all of them together. */
  readonly subject?: string
  /** As `addressKey` makes it. */
  readonly ip: string
  /** 0 is off. */
  readonly perMinute: number
}

type Counted = { readonly exceeded: Exceeded | undefined; readonly takeBack: () => Promise<void> }

/** Counts one more use of an address and of the networks around it within a minute; what is refused does not count. */
export async function countUse({ limits, clock }: Pick<Gateway, 'limits' | 'clock'>, use: Use): Promise<Counted> {
  const at = clock.now()
  const counted: string[] = []
  const takeBack = async (): Promise<void> => {
    for (const key of counted) await limits.takeBack(key, at)
  }
  for (const { network, share } of networksOf(use.ip)) {
    const key = [use.name, use.subject, network].filter((part) => part !== undefined).join(' ')
    const limit = use.perMinute * share
    const outcome = await limits.hit(key, limit, MINUTE_MS, at)
    if (!outcome.allowed) {
      await takeBack()
      return { exceeded: { name: use.name, limit, retryAfterMs: outcome.retryAfterMs }, takeBack: async () => undefined }
    }
    if (limit > 0) counted.push(key)
  }
  return { exceeded: undefined, takeBack }
}

/** Counts one more use. @throws that there were too many, with the time to wait */
export async function withinLimit(gateway: Pick<Gateway, 'limits' | 'clock'>, use: Use): Promise<void> {
  const { exceeded } = await countUse(gateway, use)
  if (exceeded) throw tooMany(exceeded)
}
