import { accountsManifest } from '@penstock/accounts/manifest.ts'
import { channelWatcherManifest } from '@penstock/channel-watcher/manifest.ts'
import { gatewayManifest } from '@penstock/gateway/manifest.ts'
import { matchingManifest } from '@penstock/matching/manifest.ts'
import { orderManifest } from '@penstock/order/manifest.ts'
import { paymentsManifest } from '@penstock/payments/manifest.ts'
import { quoteManifest } from '@penstock/quote/manifest.ts'
import type { Service } from '@penstock/runtime/service.ts'
import { settlementManifest } from '@penstock/settlement/manifest.ts'

/** The services that own streams. An audit folds the streams with their deciders. */
export const streamServices = [
  quoteManifest,
  orderManifest,
  matchingManifest,
  settlementManifest,
  channelWatcherManifest,
  accountsManifest,
  paymentsManifest,
] as const

/** All services. Every deployment is made from this list. */
export const services = [...streamServices, gatewayManifest] as const

export type ServiceName = (typeof services)[number]['name']

export const serviceNames: readonly ServiceName[] = services.map(({ name }) => name)

/** The process that verifies and signs the log. It is no service, and logs in like one. */
export const AUDIT_NAME = 'audit'

/** The processes with a login of their own at the servers: all processes that use facts, tables and messages. */
export const loginNames: readonly string[] = [...serviceNames, AUDIT_NAME]

export const createStreamServices = (): readonly Service<never>[] => streamServices.map(({ create }) => create())
