import {
  buildClientSchema,
  getIntrospectionQuery,
  GraphQLInputObjectType,
  GraphQLObjectType,
  type IntrospectionQuery,
  lexicographicSortSchema,
  printSchema,
} from 'graphql'
import assert from 'node:assert/strict'
import { expect, test } from 'vitest'
import { openGatewayHarness } from '../gateway-harness.fixture.ts'
import { schema, printSchemaText } from './schema.ts'

// `vitest run services/gateway/src/graphql/schema.test.ts -u` regenerates the file.
test('the committed schema equals the running schema', async () => {
  await expect(printSchemaText()).toMatchFileSnapshot('../../../../docs/api/schema.graphql')
})

test('introspection of the running service shows the committed schema', async () => {
  const market = await openGatewayHarness()
  const { data } = await market.gql(getIntrospectionQuery())
  await market.close()
  const shown = buildClientSchema(data as IntrospectionQuery) // the query requests this
  assert.equal(`${printSchema(lexicographicSortSchema(shown))}\n`, printSchemaText())
})

test('every type has an id, and every operation is nullable so that its failure does not remove its siblings', () => {
  const roots = ['Query', 'Mutation']
  for (const type of Object.values(schema.getTypeMap())) {
    if (!(type instanceof GraphQLObjectType) || type.name.startsWith('__')) continue
    const { id, ...fields } = type.getFields()
    if (!roots.includes(type.name)) assert.equal(String(id?.type), 'String!', `${type.name}.id`)
    for (const field of Object.values(fields)) {
      const isNamespace = /(Queries|Mutations)!$/.test(String(field.type))
      if (/(Queries|Mutations)$/.test(type.name))
        assert.equal(String(field.type).endsWith('!'), isNamespace, `${type.name}.${field.name}`)
    }
  }
})

test('input types have the documented names', () => {
  const names = [
    'LiquidityOrderInput',
    'CreateOfferInput',
    'UpdateOfferInput',
    'ToggleOfferInput',
    'CancelOrderInput',
    'SellerAcceptOrdersInput',
    'SellerRejectOrdersInput',
  ]
  names.push(
    'SellerAddTransactionInput',
    'OrderInput',
    'PageInput',
    'CreateAccountInput',
    'LoginInput',
    'ConnectNodeInput',
    'CreateApiKeyInput',
  )
  for (const name of names) assert.ok(schema.getType(name) instanceof GraphQLInputObjectType, name)
})
