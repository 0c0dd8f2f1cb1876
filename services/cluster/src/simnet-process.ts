import { serveSimulatedNetwork } from '@penstock/platforms/simnet-server.ts'

await serveSimulatedNetwork(process.env)
