import { makeExecutableSchema } from '@graphql-tools/schema'
import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql'
import { readFileSync } from 'node:fs'
import type { Context } from './context.ts'
import { resolvers } from './resolvers.ts'

const read = (name: string): string => readFileSync(new URL(`${name}.graphql`, import.meta.url), 'utf8')

export const schema: GraphQLSchema = makeExecutableSchema<Context>({
  typeDefs: ['base', 'market', 'liquidity', 'user', 'account'].map(read),
  resolvers,
  resolverValidationOptions: { requireResolversToMatchSchema: 'error' },
})

/** The whole schema as text, always in the same order; committed as docs/api/schema.graphql. */
export const schemaText = (): string => `${printSchema(lexicographicSortSchema(schema))}\n`
