import { Resolver } from 'node:dns/promises'
import type { NameResolver } from '@penstock/outbound/host-guard.ts'
import type { Clock } from '@penstock/ports/clock.ts'

const ANSWER_TIMEOUT_MS = 2000
const TRIES = 2
/** Timeout of the whole lookup. A resolver tries each server in turn, so its own timeouts may add up to more. */
const TOTAL_TIMEOUT_MS = 4000
/** Error codes by which name servers report that a name has no address. */
const NO_ADDRESS: ReadonlySet<unknown> = new Set(['ENODATA', 'ENOTFOUND'])

/**
 * Queries the name servers of this machine, without its hosts file and its search domains, because a public name needs neither.
 * @param servers other name servers, for tests
 */
export function createDnsResolver(clock: Clock, servers?: readonly string[]): NameResolver {
  return async (name) => {
    const resolver = new Resolver({ timeout: ANSWER_TIMEOUT_MS, tries: TRIES })
    if (servers) resolver.setServers(servers)
    const answered = new AbortController()
    void clock.sleep(TOTAL_TIMEOUT_MS, answered.signal).then(() => resolver.cancel())
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    answered.abort()
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    const isKnown = answers.every((answer) => answer.status === 'fulfilled' || NO_ADDRESS.has(codeOf(answer.reason)))
    return addresses.length > 0 || isKnown ? addresses : undefined
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)
