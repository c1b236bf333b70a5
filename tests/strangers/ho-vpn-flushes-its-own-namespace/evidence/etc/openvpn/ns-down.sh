#!/bin/bash
ip netns delete vpn0
