import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import { serveProbe } from '../support/process-probe.ts'

/**
 * This module is loaded into the market's process before any other code. It records the created routes, and reports memory,
 * open files and routes of the process on a socket.
 */

export type RouteRecord = { readonly path: string; readonly methods: readonly string[] }
export type ProcessState = {
  readonly pid: number
  /** The heap after two garbage collections, plus external memory, which contains the bytes of buffers. */
  readonly heapBytes: number
  readonly rssBytes: number
  /** Open files, without connections of the process to itself. */
  readonly files: number
  readonly routes: readonly RouteRecord[]
}

type Route = { readonly path: string; readonly methods: Readonly<Record<string, boolean>> }
type Prototype = { route: (this: object, path: string) => Route; use: (this: object, ...args: unknown[]) => unknown }

const socket = process.env['PROBE_SOCKET']
if (isMainThread && socket !== undefined) {
  const readRoutes = watchRoutes()
  serveProbe(socket, (): ProcessState => {
    const { heapUsed, external, rss } = process.memoryUsage()
    const files = countOpenFiles()
    return { pid: process.pid, heapBytes: heapUsed + external, rssBytes: rss, files, routes: readRoutes() }
  })
}

/** Counts open files, without connections of the process to itself: the sellers' agents in the process keep some open. */
function countOpenFiles(): number {
  const files = readdirSync('/proc/self/fd')
  const inodes = new Set(files.flatMap((fd) => /^socket:\[(\d+)\]$/.exec(readLinkTarget(fd))?.[1] ?? []))
  const connections = readFileSync('/proc/self/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/ +/))
    .filter((columns) => inodes.has(columns[9] ?? ''))
  const addressPairs = new Set(connections.map(([, local, remote]) => `${local} ${remote}`))
  const ownConnections = connections.filter(([, local, remote]) => addressPairs.has(`${remote} ${local}`))
  // Two files do not count: the connection of this request, and the open folder /proc/self/fd.
  return files.length - ownConnections.length - 2
}

/** @returns an empty text for a closed file descriptor, such as that of the folder /proc/self/fd */
function readLinkTarget(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return ''
  }
}

/** Records every route of every router, and the path of every mounted router. */
function watchRoutes(): () => readonly RouteRecord[] {
  const express = createRequire(new URL('../../services/gateway/src/http/app.ts', import.meta.url))('express') as {
    Router: { prototype: Prototype } // as express exports it
  }
  const { prototype } = express.Router
  const { route, use } = prototype
  const routes = new Map<object, Route[]>()
  const mounts = new Map<object, { readonly at: string; readonly inner: object }[]>()
  const push = <T>(map: Map<object, T[]>, key: object, value: T) => map.set(key, [...(map.get(key) ?? []), value])
  prototype.route = function (path) {
    const madeRoute = route.call(this, path)
    push(routes, this, madeRoute)
    return madeRoute
  }
  prototype.use = function (...args) {
    const at = typeof args[0] === 'string' ? args[0] : ''
    for (const nestedRouter of args.flat())
      if (typeof nestedRouter === 'function' && 'stack' in nestedRouter) push(mounts, this, { at, inner: nestedRouter })
    return use.apply(this, args)
  }
  const listUnder = (router: object, prefix: string): RouteRecord[] => [
    ...(routes.get(router) ?? []).map(({ path, methods }) => ({ path: prefix + path, methods: Object.keys(methods) })),
    ...(mounts.get(router) ?? []).flatMap(({ at, inner: nestedRouter }) => listUnder(nestedRouter, prefix + at)),
  ]
  return () => {
    const mounted = new Set([...mounts.values()].flat().map(({ inner: nestedRouter }) => nestedRouter))
    const roots = new Set([...routes.keys(), ...mounts.keys()])
    return [...roots].filter((root) => !mounted.has(root)).flatMap((root) => listUnder(root, ''))
  }
}
