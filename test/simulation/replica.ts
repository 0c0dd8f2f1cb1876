import { accounts } from '@penstock/accounts/service.ts'
import { channelWatcher } from '@penstock/channel-watcher/service.ts'
import { type Door, gatewayWithoutHttp } from '@penstock/gateway/door.contract.ts'
import { matching } from '@penstock/matching/service.ts'
import { orders } from '@penstock/order/service.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { RateSource } from '@penstock/ports/rates.ts'
import type { Records } from '@penstock/ports/records.ts'
import { quoting } from '@penstock/quote/service.ts'
import type { Platform } from '@penstock/runtime/platform.ts'
import { bind, type Bound, run } from '@penstock/runtime/run.ts'
import { settlementService } from '@penstock/settlement/service.ts'
import type { SERVICES } from './plan.ts'

/** What one process of one service has: everything by its own way, which may fail and at each step of which it may die. */
export type Home = {
  readonly platform: Platform
  readonly records: Records
  readonly lightning: Lightning
  readonly chain: Chain
  readonly keyring: Keyring
  readonly rates: readonly RateSource[]
  readonly pepper: Uint8Array
  readonly opened: (door: Door) => void
}

/**
 * One service in one process, as `services/standalone/src/assembly.ts` puts them together. This file and all that it
 * imports is loaded a second time where a process runs with earlier contracts.
 */
export async function startReplica(service: (typeof SERVICES)[number], home: Home): Promise<void> {
  const { height, follow } = heightOf(home.chain, home.platform.clock)
  void follow()
  // Nobody is served before the read models have caught up.
  const ready = Promise.withResolvers<void>()
  const opened: Home['opened'] = (door) => void ready.promise.then(() => home.opened(door))
  await run([boundOf(service, { ...home, opened }, height)], home.platform)
  ready.resolve()
}

function boundOf(service: (typeof SERVICES)[number], home: Home, height: () => number | undefined): Bound {
  const { platform, records, lightning, chain, keyring, rates, pepper, opened } = home
  const { views, clock } = platform
  const { peers } = lightning
  switch (service) {
    case 'quote':
      return bind(quoting(), { rates, chain, graph: lightning.graph }, height)
    case 'order':
      return bind(orders, { network: 'regtest' as const }, height)
    case 'matching':
      return bind(matching(), { chain, graph: lightning.graph }, height)
    case 'settlement':
      return bind(settlementService(), { lightning, chain, keyring, network: 'regtest' as const }, height)
    case 'channel-watcher':
      return bind(channelWatcher, { lightning, chain }, height)
    case 'accounts':
      return bind(accounts, {})
    case 'gateway':
      return bind(gatewayWithoutHttp({ pepper, clock, outside: { peers, chain }, opened }), {
        views,
        records,
        peers,
        hostGuard: null,
        readiness: async () => undefined,
      })
  }
}

/** The newest block that this process was told of. */
function heightOf(chain: Chain, clock: Clock) {
  let newest: number | undefined
  return {
    height: () => newest,
    follow: async (): Promise<void> => {
      for (;;) {
        try {
          for await (const tip of chain.tips(new AbortController().signal)) newest = tip.height
        } catch {
          // It is begun again as where it has ended.
        }
        await clock.sleep(200)
      }
    },
  }
}
