/** The parts of the view that walks of the queue's chart show. */
export const queueParts = ["queues"] as const;
