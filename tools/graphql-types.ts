// Generates the types of the gateway's inputs and results from its schema:  node tools/graphql-types.ts
import { codegen } from '@graphql-codegen/core'
import * as typescript from '@graphql-codegen/typescript'
import { parse } from 'graphql'
import { writeFileSync } from 'node:fs'
import { printSchemaText } from '../services/gateway/src/http/graphql/schema.ts'

export const GRAPHQL_TYPES = new URL('../services/gateway/src/generated/schema-types.ts', import.meta.url)

const HEADER = '// Types of inputs and results, from the schema: npm run generate:graphql\n\n'

export const renderGraphqlTypes = async (): Promise<string> =>
  HEADER +
  (await codegen({
    filename: 'schema-types.ts',
    schema: parse(printSchemaText()),
    documents: [],
    config: {},
    plugins: [
      {
        typescript: {
          enumsAsTypes: true,
          immutableTypes: true,
          skipTypename: true,
          disableDescriptions: true,
          namingConvention: { typeNames: 'change-case-all#pascalCase', transformUnderscore: true },
          avoidOptionals: { field: true, object: false, inputValue: false, defaultValue: false },
          maybeValue: 'T | null',
          inputMaybeValue: 'T | null',
          scalars: { WholeNumber: 'string' },
        },
      },
    ],
    pluginMap: { typescript },
  }))

if (import.meta.main) writeFileSync(GRAPHQL_TYPES, await renderGraphqlTypes())
