import { codegen } from '@graphql-codegen/core'
import * as typescript from '@graphql-codegen/typescript'
import { parse } from 'graphql'
import { printSchemaText } from '../services/gateway/src/http/graphql/schema.ts'
import type { GeneratedFiles } from './generated-files.ts'

const HEADER = '// Types of inputs and results, from the schema: npm run generate\n\n'

const renderTypes = async (): Promise<string> =>
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

/** Renders the gateway's schema, and the types of its inputs and results. */
export const renderGraphqlSchema = async (): Promise<GeneratedFiles> =>
  new Map([
    ['docs/api/schema.graphql', printSchemaText()],
    ['services/gateway/src/generated/schema-types.ts', await renderTypes()],
  ])
