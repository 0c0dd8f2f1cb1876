import { memoryVault } from '@penstock/adapters/memory/vault.ts'
import { sqlDeliveries } from '@penstock/adapters/sql/deliveries.ts'
import type { DeliveryChange, NewDelivery, WebhookEventRow } from '@penstock/ports/deliveries.ts'
import { NOW } from '../../gateway-harness.fixture.ts'
import { openServiceKeysHarness } from '../keys/service-keys.fixture.ts'
import type { GatewayPorts } from '../payments.fixture.ts'

const ENDPOINT =
  'id environment_id url event_filters active created_at updated_at deactivated_at deactivation_reason previous_secret_valid_until'
export const CREATE = `mutation ($input: CreateWebhookEndpointInput!) { payment { webhook_endpoint { create(input: $input) { id secret endpoint { ${ENDPOINT} } } } } }`
export const UPDATE = `mutation ($input: UpdateWebhookEndpointInput!) { payment { webhook_endpoint { update(input: $input) { ${ENDPOINT} } } } }`
export const ROTATE = `mutation ($id: String!) { payment { webhook_endpoint { rotate_secret(id: $id) { id secret endpoint { ${ENDPOINT} } } } } }`
export const DELETE = 'mutation ($id: String!) { payment { webhook_endpoint { delete(id: $id) } } }'
export const FIND_ENDPOINT = `query ($id: String!) { payment { webhook_endpoint { find_one(id: $id) { ${ENDPOINT} } } } }`
export const LIST_ENDPOINTS =
  'query ($input: FindManyWebhookEndpointsInput, $environment: String) { payment { webhook_endpoint { find_many(input: $input) { id total_count pagination { limit offset } list(environment_id: $environment) { id environment_id url event_filters active created_at updated_at } } } } }'

const DELIVERY =
  'id webhook_event_id webhook_endpoint_id attempt_number status http_status error_message next_attempt_at created_at updated_at'
export const FIND_EVENT = `query ($id: String!) { payment { webhook_event { find_one(id: $id) { id event_type environment_id wallet_id transaction_id idempotency_key payload created_at deliveries { ${DELIVERY} } } } } }`
export const LIST_EVENTS = `query ($input: ListWebhookEventsInput!) { payment { webhook_event { find_many(input: $input) { total_count pagination { limit offset } list { id event_type wallet_id transaction_id created_at deliveries { ${DELIVERY} } } } } } }`
export const REDELIVER = `mutation ($id: String!, $endpoint: String!) { payment { webhook_event { redeliver(id: $id, endpoint_id: $endpoint) { ${DELIVERY} } } } }`
export const TEST = `mutation ($id: String!) { payment { webhook_endpoint { test(id: $id) { ${DELIVERY} } } } }`

export const HOOK_URL = 'https://shop.example.com/hook'

export type EndpointRecord = {
  readonly id: string
  readonly environment_id: string
  readonly url: string
  readonly event_filters: readonly string[]
  readonly active: boolean
  readonly created_at: string
  readonly updated_at: string
  readonly deactivated_at: string | null
  readonly deactivation_reason: string | null
  readonly previous_secret_valid_until: string | null
}
export type CreatedEndpoint = { readonly id: string; readonly secret: string; readonly endpoint: EndpointRecord }
export type DeliveryRecord = Readonly<Record<string, unknown>> & { readonly id: string }

/** Opens a gateway with a sandbox, whose test records the log of deliveries in place of the payments service. */
export async function openWebhooksHarness(env: Record<string, string> = {}, ports: GatewayPorts = {}) {
  const market = await openServiceKeysHarness(env, ports)
  const { views, ids } = market.harness.gateway
  const log = await sqlDeliveries(views)

  const recordChanges = async (...changes: readonly DeliveryChange[]): Promise<void> => {
    const after = await log.readPosition()
    await log.record({ after, position: after === 'start' ? 0n : after + 1n, changes })
  }
  /** Records the settings of an endpoint, without which nothing is delivered to it. */
  const recordEndpoint = (id: string, active = true) => {
    const settings = { id, environmentId: market.environmentId, urlRecord: ids.uuid(), secrets: [], filters: [], active }
    return recordChanges({ kind: 'endpoint', settings })
  }
  /** Records an event of the sandbox, with its deliveries. */
  const recordEvent = async (
    given: Partial<WebhookEventRow> = {},
    deliveries: readonly NewDelivery[] = [],
  ): Promise<WebhookEventRow> => {
    const { type = 'payment.completed', transactionId = ids.uuid() } = given
    const event = {
      id: ids.uuid(),
      envelopeId: `${type}:${transactionId ?? ids.uuid()}`,
      environmentId: market.environmentId,
      walletId: market.walletId,
      transactionId,
      sequence: 1,
      type,
      body: `{"amount":"1000"}`,
      createdAt: NOW,
      ...given,
    }
    await recordChanges({ kind: 'event', event, deliveries })
    return event
  }
  return {
    ...market,
    log,
    /** Opens what the gateway sealed. */
    vault: memoryVault(market.harness.gateway.pepper),
    refuseCommands: () =>
      market.harness.respondWith((ask, options) =>
        market.harness.projectOutcome(ask, options, { code: 'REFUSED', message: 'There are too many.' }),
      ),
    recordChanges,
    recordEndpoint,
    recordEvent,
    create: (input: object = {}, bearer = market.token) =>
      market.call<CreatedEndpoint>(
        CREATE,
        { input: { environment_id: market.environmentId, url: HOOK_URL, ...input } },
        'payment.webhook_endpoint.create',
        bearer,
      ),
    findEndpoint: (id: string) => market.call<EndpointRecord>(FIND_ENDPOINT, { id }, 'payment.webhook_endpoint.find_one'),
    update: (input: object) => market.call<EndpointRecord>(UPDATE, { input }, 'payment.webhook_endpoint.update'),
  }
}
export type WebhooksHarness = Awaited<ReturnType<typeof openWebhooksHarness>>
