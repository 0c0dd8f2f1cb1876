import { z } from 'zod'
import { createOrderBody, lspError, lspInfo, lspOrder } from './schemas.ts'

const schemas = { LspInfo: lspInfo, CreateOrder: createOrderBody, LspOrder: lspOrder, LspError: lspError }
type Name = keyof typeof schemas

const json = (description: string, name: Name) => ({
  description,
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
})

const problems = {
  400: json('The request is malformed, or a value is beside what get_info offers.', 'LspError'),
  404: json('There is no such order of this type.', 'LspError'),
  405: json('Another method belongs here.', 'LspError'),
  413: json('The body is larger than 64 KiB.', 'LspError'),
  415: json('The body is not JSON.', 'LspError'),
  429: json('Too many requests within a minute; `Retry-After` says when to try again.', 'LspError'),
  500: json('Nobody can serve this now, or something failed.', 'LspError'),
  503: json('The service is starting.', 'LspError'),
}

const answers = (ok: Name, description: string, ...statuses: readonly (keyof typeof problems)[]) => ({
  200: json(description, ok),
  ...Object.fromEntries(statuses.map((status) => [status, problems[status]])),
})

const type = {
  name: 'type',
  in: 'path',
  required: true,
  description: '`recommended` ranks sellers by reliability, `cheapest` by price.',
  schema: { type: 'string', enum: ['recommended', 'cheapest'] },
}
const orderId = { name: 'order_id', in: 'query', required: true, schema: { type: 'string', format: 'uuid' } }

/** The interface as OpenAPI 3.1, made from the schemas that read requests; committed as docs/api/lsps1.openapi.json. */
export const openApi = () => ({
  openapi: '3.1.0',
  info: {
    title: 'Penstock: LSPS1 over HTTP',
    version: '1',
    description:
      'Inbound Lightning liquidity for clients of bLIP-51 (LSPS1). Pay the hold invoice of create_order, then ask get_order until order_state is COMPLETED or FAILED. All of it is public, from any origin.',
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/api/lsp/v1' }],
  paths: {
    '/{type}/get_info': {
      get: {
        operationId: 'getInfo',
        summary: 'What can be ordered now, and from which nodes',
        parameters: [type],
        responses: answers('LspInfo', 'The options of an order.', 405, 500, 503),
      },
    },
    '/{type}/create_order': {
      post: {
        operationId: 'createOrder',
        summary: 'Order a channel',
        parameters: [type],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/CreateOrder' } } },
        },
        responses: answers('LspOrder', 'The order, with the invoice to pay.', 400, 405, 413, 415, 429, 500, 503),
      },
    },
    '/{type}/get_order': {
      get: {
        operationId: 'getOrder',
        summary: 'How an order stands',
        parameters: [type, orderId],
        responses: answers('LspOrder', 'The order as it stands.', 400, 404, 405, 429, 500, 503),
      },
    },
  },
  components: { schemas: Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, schemaOf(schema)])) },
})

function schemaOf(schema: z.ZodType): object {
  // The document says once which dialect its schemas are of.
  return { ...z.toJSONSchema(schema, { io: 'input' }), $schema: undefined }
}
