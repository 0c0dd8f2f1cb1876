import { type PaymentsClient, requireValue, type Sandbox } from './payments-client.ts'

const CREATE_ENDPOINT =
  'mutation ($input: CreateWebhookEndpointInput!) { payment { webhook_endpoint { create(input: $input) { secret endpoint { id url event_filters active } } } } }'
const UPDATE_ENDPOINT =
  'mutation ($input: UpdateWebhookEndpointInput!) { payment { webhook_endpoint { update(input: $input) { id url event_filters active } } } }'
const ROTATE_SECRET =
  'mutation ($id: String!) { payment { webhook_endpoint { rotate_secret(id: $id) { secret endpoint { id } } } } }'
const FIND_EVENTS = `query ($input: ListWebhookEventsInput!) { payment { webhook_event { find_many(input: $input) { total_count list {
  id event_type transaction_id deliveries { webhook_endpoint_id attempt_number status http_status error_message } } } } } }`
const REDELIVER =
  'mutation ($id: String!, $endpoint: String!) { payment { webhook_event { redeliver(id: $id, endpoint_id: $endpoint) { status attempt_number } } } }'
const PAGE = 100

export const WEBHOOK_PERMISSIONS = {
  permissions: ['WALLETS', 'PAYMENTS', 'WEBHOOKS'].map((resource) => ({
    resource,
    level: resource === 'WALLETS' ? 'READ' : 'WRITE',
  })),
}

export type Endpoint = {
  readonly id: string
  readonly url: string
  readonly event_filters: readonly string[]
  readonly active: boolean
}
export type EndpointWithSecret = { readonly secret: string; readonly endpoint: Endpoint }
export type LoggedWebhook = {
  readonly id: string
  readonly event_type: string
  readonly transaction_id: string
  readonly deliveries: readonly {
    readonly webhook_endpoint_id: string
    readonly attempt_number: number
    readonly status: 'PENDING' | 'IN_PROGRESS' | 'SUCCESS' | 'FAILED'
    readonly http_status: number | null
    readonly error_message: string | null
  }[]
}
type EventPage = { readonly total_count: number; readonly list: readonly LoggedWebhook[] }

/** Manages webhooks with a key that has the permissions for them. */
export function createWebhooksClient({ call }: Pick<PaymentsClient, 'call'>, { environmentId }: Pick<Sandbox, 'environmentId'>) {
  const createEndpoint = (input: { readonly url: string; readonly event_filters?: readonly string[] }) =>
    call<EndpointWithSecret>(
      CREATE_ENDPOINT,
      { input: { environment_id: environmentId, ...input } },
      'payment.webhook_endpoint.create',
    )
  const findPage = (filter: object, offset: number) =>
    call<EventPage>(
      FIND_EVENTS,
      { input: { environment_id: environmentId, filter, page: { limit: PAGE, offset } } },
      'payment.webhook_event.find_many',
    )
  return {
    createEndpoint,
    update: (input: { readonly id: string; readonly active?: boolean; readonly event_filters?: readonly string[] }) =>
      call<Endpoint>(UPDATE_ENDPOINT, { input }, 'payment.webhook_endpoint.update'),
    rotateSecret: (id: string) => call<EndpointWithSecret>(ROTATE_SECRET, { id }, 'payment.webhook_endpoint.rotate_secret'),
    redeliver: (id: string, endpoint: string) =>
      call<{ readonly attempt_number: number }>(REDELIVER, { id, endpoint }, 'payment.webhook_event.redeliver'),
    /** Reads all pages of the log. No event may be added meanwhile. */
    async listEvents(filter: object = {}): Promise<readonly LoggedWebhook[]> {
      const events: LoggedWebhook[] = []
      for (;;) {
        const { total_count: total, list } = requireValue(await findPage(filter, events.length))
        events.push(...list)
        if (list.length === 0 || events.length >= total) return events
      }
    },
  }
}
export type WebhooksClient = ReturnType<typeof createWebhooksClient>
