import type { Permission } from '@penstock/contracts/payments/service-key.ts'

/** The callers that an operation admits: everybody, dashboard users only, or also the keys with a permission. */
export type Admission = 'public' | 'dashboard' | `${Permission['resource']}:${Permission['level']}`
export type Row = {
  readonly admits: Admission
  /** The document of a call, without the braces of the operation. */
  readonly document: string
  /** The operation is about environments, so it refuses a key for one wallet. */
  readonly isOfEnvironments?: true
  /** The operation names nothing of a team, so every team may call it. */
  readonly isForAllTeams?: true
  /** The operation lists the objects of the key's wallet only, so the list for another wallet is empty. */
  readonly isListOfWallet?: true
}

/** Stand for the ids of the sandbox in the documents. */
export const [ENVIRONMENT, WALLET, TRANSACTION, KEY] = ['ENVIRONMENT_ID', 'WALLET_ID', 'TRANSACTION_ID', 'KEY_ID'] as const
export const [ENDPOINT, EVENT] = ['ENDPOINT_ID', 'EVENT_ID'] as const

/** The operations of payments, as section 5 of the specification admits callers to them. */
export const rows: Readonly<Record<string, Row>> = {
  'public.assets.supported': {
    admits: 'public',
    document: 'public { assets { supported { total_count } } }',
    isForAllTeams: true,
  },
  'taproot_assets.list': { admits: 'public', document: 'taproot_assets { list { id } }', isForAllTeams: true },
  'payment.environment.create': {
    admits: 'ENVIRONMENTS:WRITE',
    document: 'payment { environment { create(input: { name: "shop", type: SANDBOX }) { id } } }',
    isOfEnvironments: true,
    isForAllTeams: true,
  },
  'payment.environment.find_one': {
    admits: 'ENVIRONMENTS:READ',
    document: `payment { environment { find_one(id: "${ENVIRONMENT}") { id } } }`,
    isOfEnvironments: true,
  },
  'payment.environment.find_many': {
    admits: 'ENVIRONMENTS:READ',
    document: 'payment { environment { find_many { list { id } } } }',
    isOfEnvironments: true,
  },
  'payment.environment.delete': {
    admits: 'ENVIRONMENTS:WRITE',
    document: `payment { environment { delete(id: "${ENVIRONMENT}") } }`,
    isOfEnvironments: true,
  },
  'payment.wallet.create': {
    admits: 'WALLETS:WRITE',
    document: `payment { wallet { create(input: { name: "till", environment_id: "${ENVIRONMENT}", asset_id: "b7c0b1de-0000-4000-8000-000000000001" }) { id } } }`,
    isOfEnvironments: true,
  },
  'payment.wallet.find_one': {
    admits: 'WALLETS:READ',
    document: `payment { wallet { find_one(id: "${WALLET}") { id } } }`,
  },
  'payment.wallet.find_many': { admits: 'WALLETS:READ', document: 'payment { wallet { find_many { list { id } } } }' },
  'payment.wallet.delete': { admits: 'WALLETS:WRITE', document: `payment { wallet { delete(id: "${WALLET}") } }` },
  'payment.transaction.create_receive': {
    admits: 'PAYMENTS:WRITE',
    document: `payment { transaction { create_receive(input: { wallet_id: "${WALLET}", amount: "1" }) { id } } }`,
  },
  'payment.transaction.create_send': {
    admits: 'PAYMENTS:WRITE',
    document: `payment { transaction { create_send(input: { wallet_id: "${WALLET}", address: { lightning_address: "ann@example.org", amount: "1" } }) { id } } }`,
  },
  'payment.transaction.find_one': {
    admits: 'PAYMENTS:READ',
    document: `payment { transaction { find_one(id: "${TRANSACTION}") { id } } }`,
  },
  'payment.transaction.find_many': {
    admits: 'PAYMENTS:READ',
    document: `payment { transaction { find_many(input: { wallet_id: "${WALLET}" }) { list { id } } } }`,
  },
  'payment.webhook_endpoint.find_one': {
    admits: 'WEBHOOKS:READ',
    document: `payment { webhook_endpoint { find_one(id: "${ENDPOINT}") { id } } }`,
    isOfEnvironments: true,
  },
  'payment.webhook_endpoint.find_many': {
    admits: 'WEBHOOKS:READ',
    document: `payment { webhook_endpoint { find_many(input: { environment_id: "${ENVIRONMENT}" }) { list { id } } } }`,
    isOfEnvironments: true,
  },
  'payment.webhook_endpoint.available_event_types': {
    admits: 'WEBHOOKS:READ',
    document: 'payment { webhook_endpoint { available_event_types } }',
    isOfEnvironments: true,
    isForAllTeams: true,
  },
  'payment.webhook_endpoint.create': {
    admits: 'WEBHOOKS:WRITE',
    document: `payment { webhook_endpoint { create(input: { environment_id: "${ENVIRONMENT}", url: "https://shop.example.com/hook" }) { id } } }`,
    isOfEnvironments: true,
  },
  'payment.webhook_endpoint.update': {
    admits: 'WEBHOOKS:WRITE',
    document: `payment { webhook_endpoint { update(input: { id: "${ENDPOINT}", active: false }) { id } } }`,
    isOfEnvironments: true,
  },
  'payment.webhook_endpoint.rotate_secret': {
    admits: 'WEBHOOKS:WRITE',
    document: `payment { webhook_endpoint { rotate_secret(id: "${ENDPOINT}") { id } } }`,
    isOfEnvironments: true,
  },
  'payment.webhook_endpoint.delete': {
    admits: 'WEBHOOKS:WRITE',
    document: `payment { webhook_endpoint { delete(id: "${ENDPOINT}") } }`,
    isOfEnvironments: true,
  },
  'payment.webhook_endpoint.test': {
    admits: 'WEBHOOKS:WRITE',
    document: `payment { webhook_endpoint { test(id: "${ENDPOINT}") { id } } }`,
    isOfEnvironments: true,
  },
  'payment.webhook_event.find_one': {
    admits: 'WEBHOOKS:READ',
    document: `payment { webhook_event { find_one(id: "${EVENT}") { id } } }`,
  },
  'payment.webhook_event.find_many': {
    admits: 'WEBHOOKS:READ',
    document: `payment { webhook_event { find_many(input: { environment_id: "${ENVIRONMENT}" }) { list { id } } } }`,
    isListOfWallet: true,
  },
  'payment.webhook_event.redeliver': {
    admits: 'WEBHOOKS:WRITE',
    document: `payment { webhook_event { redeliver(id: "${EVENT}", endpoint_id: "${ENDPOINT}") { id } } }`,
    isOfEnvironments: true,
  },
  'service_api_key.create': {
    admits: 'dashboard',
    document: `service_api_key { create(input: { name: "till", environment_id: "${ENVIRONMENT}", permissions: [{ resource: WALLETS, level: READ }] }) { id } }`,
  },
  'service_api_key.update': {
    admits: 'dashboard',
    document: `service_api_key { update(id: "${KEY}", input: { name: "till" }) { id } }`,
  },
  'service_api_key.revoke': { admits: 'dashboard', document: `service_api_key { revoke(id: "${KEY}") { id } }` },
  'service_api_keys.get_many': {
    admits: 'dashboard',
    document: `service_api_keys { get_many(environment_id: "${ENVIRONMENT}") { id } }`,
  },
}
