import { makeExecutableSchema } from '@graphql-tools/schema'
import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql'
import { readSdl } from '../../area.ts'
import { areas, useCases } from '../../areas.ts'
import type { GraphqlContext } from './context.ts'
import { buildRootResolvers } from './resolvers.ts'
import { wholeNumberScalar } from './whole-number.ts'

const namespaceIds = Object.fromEntries(areas.flatMap((area) => Object.entries(area.namespaceIds ?? {})))

export const schema: GraphQLSchema = makeExecutableSchema<GraphqlContext>({
  typeDefs: [readSdl('base.graphql', import.meta.url), ...areas.flatMap(({ sdl = [] }) => sdl)],
  resolvers: {
    WholeNumber: wholeNumberScalar,
    Query: buildRootResolvers(useCases, 'Query', namespaceIds),
    Mutation: buildRootResolvers(useCases, 'Mutation', namespaceIds),
  },
  resolverValidationOptions: { requireResolversToMatchSchema: 'error' },
})

/** The whole schema as text, always in the same order; committed as docs/api/schema.graphql. */
export const printSchemaText = (): string => `${printSchema(lexicographicSortSchema(schema))}\n`
