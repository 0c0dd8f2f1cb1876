import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { GRAPHQL_TYPES, renderGraphqlTypes } from '../../tools/graphql-types.ts'

test("the types of the gateway's inputs and results match its schema (if not, run: npm run generate:graphql)", async () => {
  expect(readFileSync(GRAPHQL_TYPES, 'utf8')).toBe(await renderGraphqlTypes())
})
