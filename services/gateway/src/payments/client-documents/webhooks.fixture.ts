import { type ClientDocument, type DocumentObjects, page } from './client-document.fixture.ts'

const ENDPOINT = 'id environment_id url event_filters active created_at updated_at'
const ENTRY = `fragment Entry on SimpleWebhookEndpoint { ${ENDPOINT} }`
const DELIVERY = 'id attempt_number status http_status error_message webhook_endpoint_id created_at updated_at'
const SIMPLE_EVENT = `fragment Entry on SimpleWebhookEvent { id event_type wallet_id transaction_id created_at deliveries { ${DELIVERY} } }`
const EVENT = `fragment Event on WebhookEvent { id event_type environment_id wallet_id transaction_id idempotency_key payload created_at deliveries { ${DELIVERY} } }`

type Webhook = Pick<ClientDocument, 'name' | 'document' | 'path'> & { readonly variables?: (objects: DocumentObjects) => object }
const ofEndpoint = ({ endpointId: id }: DocumentObjects) => ({ id })

const webhooks: readonly Webhook[] = [
  {
    name: 'an endpoint, created',
    document: `mutation Listen($input: CreateWebhookEndpointInput!) {
      payment { webhook_endpoint { id create(input: $input) { secret endpoint { ${ENDPOINT} } } } }
    }`,
    variables: ({ environmentId }) => ({
      input: { environment_id: environmentId, url: 'https://shop.example/hook', event_filters: ['payment.completed'] },
    }),
    path: 'payment.webhook_endpoint.create.secret',
  },
  {
    name: 'an endpoint, changed',
    document: `mutation Change($input: UpdateWebhookEndpointInput!) { payment { webhook_endpoint { update(input: $input) { ${ENDPOINT} } } } }`,
    variables: ({ endpointId: id }) => ({ input: { id, url: 'https://shop.example/hook', event_filters: [], active: false } }),
    path: 'payment.webhook_endpoint.update',
  },
  {
    name: 'a new secret of an endpoint',
    document: `mutation Rotate($id: String!) { payment { webhook_endpoint { rotate_secret(id: $id) { secret endpoint { ${ENDPOINT} } } } } }`,
    variables: ofEndpoint,
    path: 'payment.webhook_endpoint.rotate_secret.secret',
  },
  {
    name: 'a test of an endpoint',
    document: `mutation Try($id: String!) { payment { webhook_endpoint { test(id: $id) { ${DELIVERY} } } } }`,
    variables: ofEndpoint,
    path: 'payment.webhook_endpoint.test',
  },
  {
    name: 'the deletion of an endpoint',
    document: 'mutation Mute($id: String!) { payment { webhook_endpoint { delete(id: $id) } } }',
    variables: ofEndpoint,
    path: 'payment.webhook_endpoint.delete',
  },
  {
    name: 'an endpoint by its id',
    document: `query One($id: String!) { payment { webhook_endpoint { find_one(id: $id) { ${ENDPOINT} } } } }`,
    variables: ofEndpoint,
    path: 'payment.webhook_endpoint.find_one',
  },
  {
    name: 'the endpoints of an environment',
    document: `query Many($environment: String, $page: PageInput) {
      payment { webhook_endpoint { find_many(input: { environment_id: $environment, page: $page }) { ${page('...Entry')} } } }
    } ${ENTRY}`,
    variables: ({ environmentId }) => ({ environment: environmentId, page: { limit: 10 } }),
    path: 'payment.webhook_endpoint.find_many.list.0',
  },
  {
    name: 'the endpoints of an environment that is named at the list',
    document: `query Many($environment: String) {
      payment { webhook_endpoint { find_many { id total_count list(environment_id: $environment) { ...Entry } } } }
    } ${ENTRY}`,
    variables: ({ environmentId }) => ({ environment: environmentId }),
    path: 'payment.webhook_endpoint.find_many.list.0',
  },
  {
    name: 'the names of events',
    document: '{ payment { webhook_endpoint { id available_event_types } } }',
    path: 'payment.webhook_endpoint.available_event_types',
  },
  {
    name: 'the log of events',
    document: `query Log($input: ListWebhookEventsInput!) { payment { webhook_event { id find_many(input: $input) { ${page('...Entry')} } } } } ${SIMPLE_EVENT}`,
    variables: ({ environmentId }) => ({ input: { environment_id: environmentId, page: { limit: 10 } } }),
    path: 'payment.webhook_event.find_many.list.0',
  },
  {
    name: 'the log of events through a filter',
    document: `query Log($environment: String!, $filter: ListWebhookEventsFilterInput, $range: DateRangeInput) {
      payment { webhook_event {
        find_many(input: { environment_id: $environment, filter: $filter }) { ${page('...Entry')} }
        recent: find_many(input: { environment_id: $environment, filter: { date_range: $range } }) { total_count }
      } }
    } ${SIMPLE_EVENT}`,
    variables: ({ environmentId, walletId, transactionId, endpointId }) => ({
      environment: environmentId,
      filter: { endpoint_id: endpointId, event_type: 'payment.completed', transaction_id: transactionId, wallet_id: walletId },
      range: { from: '2026-11-20T00:00:00.000Z' },
    }),
    path: 'payment.webhook_event.find_many.list.0',
  },
  {
    name: 'an event by its id',
    document: `query One($id: String!) { payment { webhook_event { find_one(id: $id) { ...Event } } } } ${EVENT}`,
    variables: ({ eventId: id }) => ({ id }),
    path: 'payment.webhook_event.find_one.payload',
  },
  {
    name: 'another delivery of an event',
    document: `mutation Again($id: String!, $endpoint: String!) {
      payment { webhook_event { redeliver(id: $id, endpoint_id: $endpoint) { ${DELIVERY} } } }
    }`,
    variables: ({ eventId, endpointId }) => ({ id: eventId, endpoint: endpointId }),
    path: 'payment.webhook_event.redeliver',
  },
]

export const webhookDocuments: readonly ClientDocument[] = webhooks.map((one) => ({ ...one, caller: 'service' }))
