import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import v8 from 'node:v8'
import vm from 'node:vm'
import { isMainThread } from 'node:worker_threads'

/**
 * Loaded into the market's own process before anything else. It changes nothing: it notes which routes are made, and
 * tells on a socket of its own what the process holds.
 */

export type RouteSeen = { readonly path: string; readonly methods: readonly string[] }
export type Inside = {
  readonly pid: number
  /** After two collections of garbage; with what stands outside of the heap, where the bytes of buffers are. */
  readonly heapBytes: number
  readonly rssBytes: number
  /** Without connections of the process with itself. */
  readonly files: number
  readonly routes: readonly RouteSeen[]
}

type Route = { readonly path: string; readonly methods: Readonly<Record<string, boolean>> }
type Prototype = { route: (this: object, path: string) => Route; use: (this: object, ...args: unknown[]) => unknown }

const socket = process.env['PROBE_SOCKET']
if (isMainThread && socket !== undefined) {
  const seen = watchRoutes()
  v8.setFlagsFromString('--expose-gc')
  const collect = vm.runInNewContext('gc') as () => void // what the flag makes
  createServer((connection) => {
    collect()
    collect()
    const { heapUsed, external, rss } = process.memoryUsage()
    const files = openFiles()
    const inside: Inside = { pid: process.pid, heapBytes: heapUsed + external, rssBytes: rss, files, routes: seen() }
    connection.end(JSON.stringify(inside))
  })
    .listen(socket)
    .unref()
}

/** Agents of sellers run in the same process, and keep as many connections to it as they ever had sales at a time. */
function openFiles(): number {
  const files = readdirSync('/proc/self/fd')
  const inodes = new Set(files.flatMap((fd) => /^socket:\[(\d+)\]$/.exec(targetOf(fd))?.[1] ?? []))
  const ends = readFileSync('/proc/self/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/ +/))
    .filter((columns) => inodes.has(columns[9] ?? ''))
  const known = new Set(ends.map(([, here, there]) => `${here} ${there}`))
  const own = ends.filter(([, here, there]) => known.has(`${there} ${here}`))
  // One of the others is the connection that asks, another is the folder that is read.
  return files.length - own.length - 2
}

/** The folder that is read is gone when it is looked at. */
function targetOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return ''
  }
}

/** Notes every route of every router, and which router stands under which path. */
function watchRoutes(): () => readonly RouteSeen[] {
  const express = createRequire(new URL('../../services/gateway/src/http.ts', import.meta.url))('express') as {
    Router: { prototype: Prototype } // as express exports it
  }
  const { prototype } = express.Router
  const { route, use } = prototype
  const routes = new Map<object, Route[]>()
  const mounts = new Map<object, { readonly at: string; readonly inner: object }[]>()
  const into = <T>(map: Map<object, T[]>, key: object, value: T) => map.set(key, [...(map.get(key) ?? []), value])
  prototype.route = function (path) {
    const made = route.call(this, path)
    into(routes, this, made)
    return made
  }
  prototype.use = function (...args) {
    const at = typeof args[0] === 'string' ? args[0] : ''
    for (const inner of args.flat()) if (typeof inner === 'function' && 'stack' in inner) into(mounts, this, { at, inner })
    return use.apply(this, args)
  }
  const under = (router: object, above: string): RouteSeen[] => [
    ...(routes.get(router) ?? []).map(({ path, methods }) => ({ path: above + path, methods: Object.keys(methods) })),
    ...(mounts.get(router) ?? []).flatMap(({ at, inner }) => under(inner, above + at)),
  ]
  return () => {
    const mounted = new Set([...mounts.values()].flat().map(({ inner }) => inner))
    const roots = new Set([...routes.keys(), ...mounts.keys()])
    return [...roots].filter((root) => !mounted.has(root)).flatMap((root) => under(root, ''))
  }
}
