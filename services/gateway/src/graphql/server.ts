import { ApolloServer, type ApolloServerPlugin } from '@apollo/server'
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled'
import type { Config } from '@penstock/runtime/config.ts'
import type { Log } from '@penstock/runtime/log.ts'
import { invalid } from '../errors.ts'
import type { Context } from './context.ts'
import { assertWeight, introspectionCost, weigh } from './cost.ts'
import { openDocuments } from './documents.ts'
import { formatError } from './format-error.ts'
import { fragmentsOf } from './leaves.ts'
import { schema } from './schema.ts'
import { throttle } from './throttle.ts'
import { countErrors } from '../web/observe.ts'

// Enough for a page of all fields; validation takes time that grows with the square of a document.
const MAX_TOKENS = 2000

/** Apollo with everything off that the market does not want: caching hints, reports to its maker, pages, persisted queries. */
export async function graphqlServer(config: Config, log: Log): Promise<ApolloServer<Context>> {
  const server = new ApolloServer<Context>({
    schema,
    introspection: true,
    persistedQueries: false,
    stopOnTerminationSignals: false,
    includeStacktraceInErrorResponses: false,
    parseOptions: { maxTokens: MAX_TOKENS },
    documentStore: openDocuments(),
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
      limits(config),
    ],
  })
  await server.start()
  return server
}

/** Looks at a document as a whole before any of it runs, and keeps the answer's status at 200 where Apollo would not. */
const limits = ({ queryDepth, queryCost }: Config): ApolloServerPlugin<Context> => ({
  requestDidStart: async () => ({
    didResolveOperation: async ({ document, operation, request, contextValue }) => {
      if (!operation) return
      // The schema has none, so that validation has nothing to say; to execute one would look like a fault of ours.
      if (operation.operation === 'subscription')
        throw invalid('There are no subscriptions here: ask again for what you want to follow.')
      const fragments = fragmentsOf(document)
      const weight = weigh(operation, fragments, request.variables ?? {}, introspectionCost(queryCost))
      assertWeight(weight, { depth: queryDepth, cost: queryCost })
      await throttle(contextValue, operation, fragments)
    },
    willSendResponse: async ({ response }) => {
      if (response.http.status !== 429) response.http.status = 200
      if (response.body.kind === 'single') countErrors(response.body.singleResult.errors ?? [])
    },
  }),
})
