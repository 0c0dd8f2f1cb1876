import type { Config } from '@penstock/config/config.ts'
import { z } from 'zod'
import { createOrderBody, lspError, lspInfo, lspOrder } from './schemas.ts'

const schemas = { LspInfo: lspInfo, CreateOrder: createOrderBody, LspOrder: lspOrder, LspError: lspError }
type SchemaName = keyof typeof schemas

const describeJson = (description: string, name: SchemaName) => ({
  description,
  content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
})

const errorResponses = {
  400: describeJson('The request is malformed, or a value is outside the options of get_info.', 'LspError'),
  404: describeJson('The type does not exist, or the type has no such order.', 'LspError'),
  405: describeJson('The path does not accept this method.', 'LspError'),
  409: describeJson('The order was not ready in time and is withdrawn.', 'LspError'),
  413: describeJson('The body is larger than 64 KiB.', 'LspError'),
  415: describeJson('The body is not JSON.', 'LspError'),
  429: describeJson('Too many requests within a minute. `Retry-After` says when to try again.', 'LspError'),
  500: describeJson('No seller can serve the request now, or an internal error occurred.', 'LspError'),
  503: describeJson('The service is starting or busy. `Retry-After` says when to try again.', 'LspError'),
}

const describeResponses = (ok: SchemaName, description: string, ...statuses: readonly (keyof typeof errorResponses)[]) => ({
  200: describeJson(description, ok),
  ...Object.fromEntries(statuses.map((status) => [status, errorResponses[status]])),
})

const typeParameter = {
  name: 'type',
  in: 'path',
  required: true,
  description: '`recommended` ranks sellers by reliability, `cheapest` by price.',
  schema: { type: 'string', enum: ['recommended', 'cheapest'] },
}
const orderIdParameter = { name: 'order_id', in: 'query', required: true, schema: { type: 'string', format: 'uuid' } }

/**
 * Creates the OpenAPI 3.1 document from the schemas that parse requests, and from the operator's bounds. `npm run
 * generate` writes the document of the default settings to docs/api/lsps1.openapi.json.
 */
export const createLspOpenApi = (bounds: OrderBounds) => ({
  openapi: '3.1.0',
  info: {
    title: 'Penstock: LSPS1 over HTTP',
    version: '1',
    description:
      'Inbound Lightning liquidity for clients of bLIP-51 (LSPS1). Pay the hold invoice of create_order, then poll get_order until order_state is COMPLETED or FAILED. All paths are public, from any origin.',
    license: { name: 'MIT', identifier: 'MIT' },
  },
  // Relative to the address of the document, which may be under a path.
  servers: [{ url: '../v1' }],
  paths: {
    '/{type}/get_info': {
      get: {
        operationId: 'getInfo',
        summary: 'Get the options of an order, and the nodes that sell now',
        parameters: [typeParameter],
        responses: describeResponses('LspInfo', 'The options of an order.', 404, 405, 500, 503),
      },
    },
    '/{type}/create_order': {
      post: {
        operationId: 'createOrder',
        summary: 'Order a channel',
        parameters: [typeParameter],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/CreateOrder' } } },
        },
        responses: describeResponses(
          'LspOrder',
          'The order, with the invoice to pay.',
          400,
          404,
          405,
          409,
          413,
          415,
          429,
          500,
          503,
        ),
      },
    },
    '/{type}/get_order': {
      get: {
        operationId: 'getOrder',
        summary: 'Get the state of an order',
        parameters: [typeParameter, orderIdParameter],
        responses: describeResponses('LspOrder', 'The current state of the order.', 400, 404, 405, 429, 500, 503),
      },
    },
  },
  components: {
    schemas: {
      ...Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, toJsonSchema(schema)])),
      CreateOrder: toJsonSchema(addOrderBounds(bounds)),
    },
  },
})

type OrderBounds = Pick<Config, 'fundingConfirmsWithinBlocks' | 'maxChannelExpiryBlocks'>

/** Describes the bounds of get_info that are settings. The parser accepts other values, so that the error names the option. */
function addOrderBounds({ fundingConfirmsWithinBlocks: minimum, maxChannelExpiryBlocks: maximum }: OrderBounds): z.ZodType {
  const { funding_confirms_within_blocks, channel_expiry_blocks } = createOrderBody.shape
  return createOrderBody.extend({
    funding_confirms_within_blocks: funding_confirms_within_blocks.meta({ examples: [minimum], minimum }),
    channel_expiry_blocks: channel_expiry_blocks.meta({ maximum }),
  })
}

function toJsonSchema(schema: z.ZodType): object {
  // The document states the dialect of its schemas once.
  return { ...z.toJSONSchema(schema, { io: 'input' }), $schema: undefined }
}
