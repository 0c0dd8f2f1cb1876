import type { Request, RequestHandler } from 'express'

/** Proxies and clients give up a connection on which nothing moves, many of them after a minute. */
const BEAT_MS = 15_000
const MAX_SENTENCE = 500

/**
 * Turns what may take hours into a route that answers JSON. What takes long begins with spaces, which JSON allows, one every
 * quarter of a minute. By then the status is sent: what goes wrong later comes as `{"error": sentence}` with 200.
 */
export const slowAnswer =
  (make: (request: Request) => Promise<unknown>, beatMs = BEAT_MS): RequestHandler =>
  async (request, response) => {
    const beat = setInterval(() => {
      // A proxy that collects the answer would keep the spaces to itself.
      if (!response.headersSent) response.set({ 'content-type': 'application/json; charset=utf-8', 'x-accel-buffering': 'no' })
      response.write(' ')
    }, beatMs)
    try {
      const value = await Promise.resolve().then(() => make(request))
      if (response.headersSent) response.end(JSON.stringify(value))
      else response.json(value)
    } catch (error) {
      if (!response.headersSent) throw error
      const sentence = error instanceof Error ? error.message : String(error)
      response.end(JSON.stringify({ error: sentence.slice(0, MAX_SENTENCE) }))
    } finally {
      clearInterval(beat)
    }
  }
