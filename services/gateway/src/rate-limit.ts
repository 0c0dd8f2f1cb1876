import { MINUTE_MS } from '@penstock/kernel/time.ts'
import type { Gateway } from './ports.ts'
import { listNetworks } from './http/client-address.ts'
import { type ExceededLimit, tooManyRequests } from './http/too-many-requests.ts'

/**
 * A limit of a use case. 'ip': each use counts for the IP address. 'user': a request counts once for the account, and each
 * further use of the same operation in it counts once more. Without an account, the IP address stands for it.
 */
export type RateLimit = {
  readonly name: string
  readonly by: 'ip' | 'user'
  readonly perMinute: (config: Gateway['config']) => number
  /** The limit that stands for this one if a service API key decides about the use case. It counts requests per key. */
  readonly ofServiceKey?: { readonly name: string; readonly perMinute: (config: Gateway['config']) => number }
  /** An exceeded use is recorded as a refused authentication. */
  readonly isAuthentication?: true
  /** Whether the use case refuses every use now, without work. These refusals do not count. */
  readonly isSuspended?: (gateway: Gateway) => boolean
}

type RateLimitUse = {
  readonly name: string
  /** The order or account for which uses of the address are counted separately; undefined counts all uses of the address. */
  readonly subject?: string
  /** An IP address in the form that `toAddressKey` returns. */
  readonly ip: string
  /** 0 turns the limit off. */
  readonly perMinute: number
}

export type TakeBack = () => Promise<void>
type CountedUse = { readonly exceeded: ExceededLimit | undefined; readonly takeBack: TakeBack }

/** Counts one use for an address and for its wider networks, per minute. A refused use does not count. */
export async function countUse({ limits, clock }: Pick<Gateway, 'limits' | 'clock'>, use: RateLimitUse): Promise<CountedUse> {
  const at = clock.now()
  const countedKeys: string[] = []
  const takeBack: TakeBack = async () => {
    for (const key of countedKeys) await limits.takeBack(key, at)
  }
  for (const { network, share } of listNetworks(use.ip)) {
    const key = [use.name, use.subject, network].filter((part) => part !== undefined).join(' ')
    const limit = use.perMinute * share
    const outcome = await limits.hit(key, limit, MINUTE_MS, at)
    if (!outcome.allowed) {
      await takeBack()
      return { exceeded: { name: use.name, limit, retryAfterMs: outcome.retryAfterMs }, takeBack: async () => undefined }
    }
    if (limit > 0) countedKeys.push(key)
  }
  return { exceeded: undefined, takeBack }
}

/**
 * Counts one use.
 * @returns a function that takes the use back
 * @throws an error with status 429 and the time to wait, if the limit is exceeded
 */
export async function enforceRateLimit(gateway: Pick<Gateway, 'limits' | 'clock'>, use: RateLimitUse): Promise<TakeBack> {
  const { exceeded, takeBack } = await countUse(gateway, use)
  if (exceeded) throw tooManyRequests(exceeded)
  return takeBack
}

/** Takes back a use that a busy market refused. The answer stays the same if the database of a busy market fails. */
export const takeBackRefused = ({ log }: Pick<Gateway, 'log'>, takeBack: TakeBack): Promise<void> =>
  takeBack().catch((error: unknown) => log.warn({ reason: String(error) }, 'a refused purchase still counts for its rate limit'))
