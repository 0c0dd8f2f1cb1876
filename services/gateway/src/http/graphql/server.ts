import { ApolloServer, type ApolloServerPlugin } from '@apollo/server'
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled'
import type { Config } from '@penstock/config/config.ts'
import type { Logger } from '@penstock/runtime/observability/log.ts'
import { invalidInput } from '../../errors.ts'
import type { GraphqlContext } from './context.ts'
import { assertComplexity, computeIntrospectionCost, measureComplexity } from './cost.ts'
import { openDocumentCache } from './document-cache.ts'
import { formatError } from './format-error.ts'
import { collectFragments, countFieldsAt } from './field-count.ts'
import { schema } from './schema.ts'
import { assertAllowedByGet } from './get-requests.ts'
import { enforceRateLimits } from './rate-limits.ts'
import { countErrors } from '../observe.ts'
import { useCases } from '../../areas.ts'

// Enough for a page of all fields. The time of validation grows with the square of the number of tokens.
const MAX_TOKENS = 2000

const operationPaths: ReadonlySet<string> = new Set(useCases.map(({ path }) => path))

/** Creates the Apollo server without caching hints, usage reports, landing pages or persisted queries. */
export async function createGraphqlServer(config: Config, log: Logger): Promise<ApolloServer<GraphqlContext>> {
  const server = new ApolloServer<GraphqlContext>({
    schema,
    introspection: true,
    persistedQueries: false,
    stopOnTerminationSignals: false,
    includeStacktraceInErrorResponses: false,
    parseOptions: { maxTokens: MAX_TOKENS },
    documentStore: openDocumentCache(),
    formatError: (formatted, error) => formatError(log, formatted, error),
    logger: {
      debug: () => undefined,
      info: () => undefined,
      warn: (text) => log.warn({}, String(text)),
      error: (text) => log.error({}, String(text)),
    },
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginUsageReportingDisabled(),
      createLimitsPlugin(config),
    ],
  })
  await server.start()
  return server
}

/** Statuses that 200 does not replace: a document that must be sent by POST, and too many requests. */
const PRESERVED_STATUSES: ReadonlySet<number> = new Set([405, 429])

/** Checks a whole document before any part of it runs. It sets the answer's status to 200 unless the status is preserved. */
const createLimitsPlugin = ({ queryDepth, queryCost }: Config): ApolloServerPlugin<GraphqlContext> => ({
  requestDidStart: async () => ({
    didResolveOperation: async ({ document, operation, request, contextValue }) => {
      if (!operation) return
      // Validation accepts a subscription although the schema has none, and its execution would be an internal error.
      if (operation.operation === 'subscription')
        throw invalidInput('Subscriptions are not supported; send a query repeatedly instead.')
      if (contextValue.isGet) assertAllowedByGet(document, operation)
      const fragments = collectFragments(document)
      const complexity = measureComplexity(operation, fragments, request.variables ?? {}, computeIntrospectionCost(queryCost))
      assertComplexity(complexity, { depth: queryDepth, cost: queryCost })
      const { refusal } = contextValue.authentication
      // No operation of a refused request runs. The authentication has counted unknown keys.
      if (!refusal) await enforceRateLimits(contextValue, operation, fragments)
      // A document without an operation has no field that could answer the refusal.
      else if (countFieldsAt(operation, fragments, operationPaths).size === 0) throw refusal
    },
    willSendResponse: async ({ response, contextValue }) => {
      if (!PRESERVED_STATUSES.has(response.http.status ?? 200)) response.http.status = 200
      if (response.body.kind !== 'single') return
      const { singleResult } = response.body
      countErrors(singleResult.errors ?? [])
      if (Object.keys(contextValue.extensions).length > 0) singleResult.extensions = contextValue.extensions
    },
  }),
})
