import { readConfig } from '../packages/config/src/config.ts'
import { createLspOpenApi } from '../services/gateway/src/lsps1/openapi.ts'
import type { GeneratedFiles } from './generated-files.ts'

/** Renders the OpenAPI document of LSPS1, with the standard settings of an operator. */
export const renderOpenApi = (): GeneratedFiles =>
  new Map([['docs/api/lsps1.openapi.json', `${JSON.stringify(createLspOpenApi(readConfig({})), null, 2)}\n`]])
