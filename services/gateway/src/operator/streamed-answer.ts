import type { Request, RequestHandler } from 'express'

/** Proxies and clients close an idle connection, many of them after a minute. */
const KEEPALIVE_MS = 15_000
const MAX_MESSAGE_LENGTH = 500

/**
 * Turns a function that may take hours into a route that answers JSON. Until the result is ready, the route sends one space per
 * 15 seconds, which JSON allows. Status 200 precedes the spaces, so a later failure is reported as `{"error": sentence}`.
 */
export const streamAnswer =
  (handle: (request: Request) => Promise<unknown>, keepaliveMs = KEEPALIVE_MS): RequestHandler =>
  async (request, response) => {
    const keepaliveTimer = setInterval(() => {
      // A proxy that buffers the answer would not forward the spaces.
      if (!response.headersSent) response.set({ 'content-type': 'application/json; charset=utf-8', 'x-accel-buffering': 'no' })
      response.write(' ')
    }, keepaliveMs)
    try {
      const value = await Promise.resolve().then(() => handle(request))
      if (response.headersSent) response.end(JSON.stringify(value))
      else response.json(value)
    } catch (error) {
      if (!response.headersSent) throw error
      const sentence = error instanceof Error ? error.message : String(error)
      response.end(JSON.stringify({ error: sentence.slice(0, MAX_MESSAGE_LENGTH) }))
    } finally {
      clearInterval(keepaliveTimer)
    }
  }
