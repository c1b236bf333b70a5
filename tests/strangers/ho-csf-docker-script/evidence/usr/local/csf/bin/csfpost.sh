#!/bin/sh
for s in /usr/local/include/csf/post.d/*.sh; do
    sh "$s"
done
