import { accounts } from '@penstock/accounts/service.ts'
import { channelWatcher } from '@penstock/channel-watcher/service.ts'
import { matching } from '@penstock/matching/service.ts'
import { orders } from '@penstock/order/service.ts'
import { quoting } from '@penstock/quote/service.ts'
import type { Service } from '@penstock/runtime/service.ts'
import { settlementService } from '@penstock/settlement/service.ts'

/** Every service that keeps streams: what an audit folds with. */
export const audited = (): readonly Service<never>[] => [
  quoting(),
  orders,
  matching(),
  settlementService(),
  channelWatcher,
  accounts,
]
