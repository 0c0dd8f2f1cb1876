import { Resolver } from 'node:dns/promises'
import type { Resolve } from '@penstock/outbound/host-guard.ts'
import type { Clock } from '@penstock/ports/clock.ts'

const ANSWER_MS = 2000
const TRIES = 2
/** A resolver tries each server in turn, so its own limit may add up to more. */
const WHOLE_MS = 4000
/** The name servers' own word that there is nothing. */
const NO_ADDRESS: ReadonlySet<unknown> = new Set(['ENODATA', 'ENOTFOUND'])

/**
 * Asks the name servers of this machine, past its hosts file and its search domains: a public name needs neither.
 * @param servers others, for tests
 */
export function dnsResolver(clock: Clock, servers?: readonly string[]): Resolve {
  return async (name) => {
    const resolver = new Resolver({ timeout: ANSWER_MS, tries: TRIES })
    if (servers) resolver.setServers(servers)
    const answered = new AbortController()
    void clock.sleep(WHOLE_MS, answered.signal).then(() => resolver.cancel())
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    answered.abort()
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    const isKnown = answers.every((answer) => answer.status === 'fulfilled' || NO_ADDRESS.has(codeOf(answer.reason)))
    return addresses.length > 0 || isKnown ? addresses : undefined
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)
