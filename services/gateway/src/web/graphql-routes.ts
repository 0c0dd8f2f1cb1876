import { expressMiddleware } from '@as-integrations/express5'
import type { ApolloServer } from '@apollo/server'
import express, { type Express, type RequestHandler, type Response } from 'express'
import { GraphQLError } from 'graphql'
import { authenticate, type Caller } from '../callers.ts'
import { invalid, unanswered } from '../errors.ts'
import { type Context, turns } from '../graphql/context.ts'
import { internal } from '../graphql/format-error.ts'
import type { Gateway } from '../ports.ts'
import { addressKey } from './address.ts'
import { bodyErrors, onlyJson, wellFormed } from './graphql-body.ts'
import { countErrors } from './observe.ts'
import { whenReady } from './ready.ts'
import { openToAllOrigins, requestIdOf } from './security.ts'

/** `POST /graphql`. Everything that is well-formed HTTP is answered with 200, errors too. */
export function graphqlRoutes(app: Express, gateway: Gateway, server: ApolloServer<Context>): void {
  const callers = new WeakMap<object, Caller | null>()

  const known: RequestHandler = async (request, response, next) => {
    try {
      callers.set(request, await authenticate(gateway, request.get('authorization'), addressKey(request.ip)))
    } catch (error) {
      return answer(response, 200, error instanceof GraphQLError ? error.toJSON() : internal(gateway.log, error))
    }
    // Whatever else a client would like, it gets JSON.
    request.headers.accept = 'application/json'
    next()
  }
  const run = expressMiddleware(server, {
    context: async ({ req }) => ({
      gateway,
      caller: callers.get(req) ?? null,
      ip: addressKey(req.ip),
      requestId: requestIdOf(req),
      inTurn: turns(),
    }),
  })
  const uncached: RequestHandler = (_, response, next) => {
    response.set('cache-control', 'no-store')
    next()
  }
  const json = express.json({ limit: '1mb', strict: false })
  const ready = whenReady(gateway, (response) =>
    answer(response, 503, unanswered('The service is starting; try again in a moment.').toJSON()),
  )
  app.options('/graphql', openToAllOrigins)
  app.post('/graphql', openToAllOrigins, uncached, ready, onlyJson, json, bodyErrors, wellFormed, known, run)
}

/** Behind everything that the address takes. */
export function otherMethods(app: Express): void {
  app.all('/graphql', openToAllOrigins, (_, response) => {
    response.set('allow', 'GET, HEAD, POST, OPTIONS')
    answer(response, 405, invalid('Send queries by POST; GET shows the explorer.').toJSON())
  })
}

const answer = (response: Response, status: number, error: object): void => {
  countErrors([error])
  response.status(status).json({ errors: [error] })
}
