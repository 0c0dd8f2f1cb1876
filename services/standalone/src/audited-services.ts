import { accountsService } from '@penstock/accounts/service.ts'
import { channelWatcherService } from '@penstock/channel-watcher/service.ts'
import { matchingService } from '@penstock/matching/service.ts'
import { orderService } from '@penstock/order/service.ts'
import { quoteService } from '@penstock/quote/service.ts'
import type { Service } from '@penstock/runtime/service.ts'
import { settlementService } from '@penstock/settlement/service.ts'

/** The services that own streams. An audit folds the streams with their deciders. */
export const createAuditedServices = (): readonly Service<never>[] => [
  quoteService(),
  orderService,
  matchingService(),
  settlementService(),
  channelWatcherService,
  accountsService,
]
