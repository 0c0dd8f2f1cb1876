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
import { stage } from '../stage.contract.ts'
import { schema, schemaText } from './schema.ts'

// `vitest run services/gateway/src/graphql/schema.test.ts -u` writes the file anew.
test('the committed schema is the one that runs', async () => {
  await expect(schemaText()).toMatchFileSnapshot('../../../../docs/api/schema.graphql')
})

test('introspection of the running service shows the committed schema', async () => {
  const market = await stage()
  const { data } = await market.gql(getIntrospectionQuery())
  await market.close()
  const shown = buildClientSchema(data as IntrospectionQuery) // what the query asked for
  assert.equal(`${printSchema(lexicographicSortSchema(shown))}\n`, schemaText())
})

test('everything can be normalised by its id, and a failed operation spares its siblings', () => {
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

test('inputs have the names that clients know', () => {
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
